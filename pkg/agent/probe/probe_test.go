// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package probe

import (
	"context"
	"io"
	"net"
	"net/http"
	"reflect"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/valkeykube/valkeykube/pkg/agent/decision"
)

type subject struct {
	good   bool
	reason string
	report Report
}

func (s *subject) Ready(context.Context) (bool, string) { return s.good, s.reason }
func (s *subject) Live() (bool, string)                 { return s.good, s.reason }
func (s *subject) Report() Report                       { return s.report }

func serve(t *testing.T, s *subject) (*Server, int) {
	t.Helper()
	server, err := Serve("127.0.0.1:0", s)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(server.Close)
	_, portText, _ := net.SplitHostPort(server.Address())
	port, _ := strconv.Atoi(portText)
	return server, port
}

func get(t *testing.T, server *Server, path string) (int, string) {
	t.Helper()
	response, err := http.Get("http://" + server.Address() + path)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response.StatusCode, strings.TrimSpace(string(body))
}

func TestProbes(t *testing.T) {
	s := &subject{}
	server, _ := serve(t, s)
	for _, path := range []string{"/readyz", "/livez"} {
		s.good, s.reason = false, "empty, and must not serve"
		if code, body := get(t, server, path); code != http.StatusServiceUnavailable || body != s.reason {
			t.Errorf("%s: %d %q", path, code, body)
		}
		s.good, s.reason = true, ""
		if code, body := get(t, server, path); code != http.StatusOK || body != "ok" {
			t.Errorf("%s: %d %q", path, code, body)
		}
	}
	if code, _ := get(t, server, "/else"); code != http.StatusNotFound {
		t.Errorf("an unknown path: %d", code)
	}
}

func TestReportsSurviveTheWay(t *testing.T) {
	want := Report{
		Name: "v-0", Version: "v1", Phase: PhaseDeciding, Since: time.Unix(1, 0).UTC(),
		Node: &Node{
			Decision: Decision{Action: decision.Wait, Code: decision.CodeEmpty, Reason: "why", After: 1.5},
			Named:    "v-0", Source: decision.SourceHint, StandsBack: true, HasData: true,
			Position: decision.Position{ReplID: "b", Offset: 7, History: []string{"a"}, When: time.Unix(2, 0).UTC()},
		},
	}
	_, port := serve(t, &subject{report: want})
	client := NewClient((&net.Dialer{}).DialContext, port)
	got, err := client.Report(t.Context(), "127.0.0.1")
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, %v", got, err)
	}
}

func TestAgentsThatDoNotAnswer(t *testing.T) {
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = silent.Close() }()
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	client := NewClient((&net.Dialer{}).DialContext, silent.Addr().(*net.TCPAddr).Port)
	if _, err := client.Report(ctx, "127.0.0.1"); err == nil {
		t.Error("an agent that accepts and says nothing")
	}
	other := &http.Server{Handler: http.NotFoundHandler(), ReadHeaderTimeout: time.Second}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	go func() { _ = other.Serve(listener) }()
	defer func() { _ = other.Close() }()
	client = NewClient((&net.Dialer{}).DialContext, listener.Addr().(*net.TCPAddr).Port)
	if _, err := client.Report(t.Context(), "127.0.0.1"); err == nil {
		t.Error("somebody who is no agent")
	}
}

func TestAPortThatIsTaken(t *testing.T) {
	server, _ := serve(t, &subject{})
	if _, err := Serve(server.Address(), &subject{}); err == nil {
		t.Error("two servers on one port")
	}
}
