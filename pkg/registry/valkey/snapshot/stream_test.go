// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package snapshot

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	testclock "k8s.io/utils/clock/testing"

	"github.com/valkeykube/valkeykube/pkg/apis/valkey/v1alpha1"
	"github.com/valkeykube/valkeykube/pkg/topology"
)

// endless is a source that never ends, and counts what is taken from it.
type endless struct{ closed chan struct{} }

func (e endless) Read(into []byte) (int, error) { return len(into), nil }

func (e endless) Close() error { close(e.closed); return nil }

func serve(t *testing.T, content io.ReadCloser) (server *httptest.Server, done chan struct{}) {
	t.Helper()
	done = make(chan struct{})
	valkey := &v1alpha1.Valkey{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "cache"}}
	server = httptest.NewServer(&stream{
		valkey: valkey, source: source{"cache-1", topology.RoleReplica, content}, clock: testclock.NewFakePassiveClock(time.Unix(0, 0)),
		patience: 200 * time.Millisecond, done: func() { close(done) },
	})
	t.Cleanup(server.Close)
	return server, done
}

func TestAClientThatTakesNothingIsLetGo(t *testing.T) {
	content := endless{make(chan struct{})}
	server, done := serve(t, content)
	connection, err := net.Dial("tcp", server.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer connection.Close()
	if _, err := fmt.Fprint(connection, "GET / HTTP/1.1\r\nHost: h\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	<-done
	<-content.closed
}

func TestTheNameOfTheFileAndWhatFollowsIt(t *testing.T) {
	server, done := serve(t, io.NopCloser(strings.NewReader("REDIS")))
	response, err := http.Get(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	content, err := io.ReadAll(response.Body)
	if err != nil || string(content) != "REDIS" {
		t.Errorf("%q, %v", content, err)
	}
	if name := response.Header.Get("Content-Disposition"); name != `attachment; filename="cache-19700101T000000Z.rdb"` {
		t.Errorf("name %s", name)
	}
	if response.Trailer.Get(HeaderBytes) != "5" || len(response.Trailer.Get(HeaderSHA256)) != 64 {
		t.Errorf("trailers %v", response.Trailer)
	}
	<-done
}

func TestAPartIsNoWhole(t *testing.T) {
	broken := errors.New("the server is gone")
	server, done := serve(t, io.NopCloser(io.MultiReader(strings.NewReader("REDIS"), failing{broken})))
	response, err := http.Get(server.URL)
	if err == nil {
		defer response.Body.Close()
		_, err = io.ReadAll(response.Body)
	}
	if err == nil {
		t.Error("a part was taken for the whole")
	}
	<-done
}

type failing struct{ err error }

func (f failing) Read([]byte) (int, error) { return 0, f.err }

func TestSyncedReplicasAreAskedFirst(t *testing.T) {
	at := func(n int) topology.Address {
		return topology.Address{Host: fmt.Sprintf("n-%d", n), Port: 6379}
	}
	replica := func(n int, offset int64, change func(*topology.Member)) topology.Member {
		m := topology.Member{
			Name: fmt.Sprintf("n-%d", n), Address: at(n), Reach: topology.Reach{Class: topology.ReachOK}, Role: topology.RoleReplica,
			Primary: at(0), LinkUp: true, Offset: offset,
		}
		if change != nil {
			change(&m)
		}
		return m
	}
	snapshot := topology.Snapshot{Members: []topology.Member{
		replica(0, 100, func(m *topology.Member) { m.Role, m.Primary = topology.RolePrimary, topology.Address{} }),
		replica(1, 90, nil),
		replica(2, 95, nil),
		replica(3, 99, func(m *topology.Member) { m.LinkUp = false }),
		replica(4, 99, func(m *topology.Member) { m.Syncing = true }),
		replica(5, 99, func(m *topology.Member) { m.Primary = at(9) }),
		replica(6, 99, func(m *topology.Member) { m.Reach.Class = topology.ReachTimeout }),
	}}
	var names []string
	for _, member := range candidates(snapshot, "n-0") {
		names = append(names, member.Name)
	}
	if got := strings.Join(names, " "); got != "n-2 n-1 n-0" {
		t.Errorf("asked are %s", got)
	}
	if got := candidates(snapshot, ""); len(got) != 0 {
		t.Errorf("without a primary nobody is known to hold everything: %v", got)
	}
}
