// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package tunnel

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/portforward"
	"k8s.io/streaming/pkg/httpstream"
	"k8s.io/streaming/pkg/httpstream/spdy"
)

// cluster answers like an API server that speaks SPDY only: what is sent to port 6379 comes back, any other port is refused.
func cluster(t *testing.T) Pods {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/api/v1/namespaces/ns/pods/p-0/portforward" {
			http.Error(w, "no such pod", http.StatusNotFound)
			return
		}
		if r.Method != http.MethodPost {
			http.Error(w, "no WebSockets here", http.StatusBadRequest)
			return
		}
		if _, err := httpstream.Handshake(r, w, []string{portforward.PortForwardProtocolV1Name}); err != nil {
			return
		}
		streams := make(chan httpstream.Stream, 2)
		connection := spdy.NewResponseUpgrader().UpgradeResponse(w, r, func(stream httpstream.Stream, _ <-chan struct{}) error {
			streams <- stream
			return nil
		})
		if connection == nil {
			return
		}
		defer connection.Close()
		problems, content := <-streams, <-streams
		if port := content.Headers().Get(corev1.PortHeader); port != "6379" {
			fmt.Fprintf(problems, "nobody listens on %s", port)
			_ = problems.Close()
			_ = content.Close()
		} else {
			_ = problems.Close()
			_, _ = io.Copy(content, content)
		}
		<-connection.CloseChan()
	}))
	t.Cleanup(server.Close)
	config := &rest.Config{Host: server.URL}
	kube, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	return Pods{Config: config, Core: kube.CoreV1().RESTClient()}
}

func dial(t *testing.T, pod string, port int) (net.Conn, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	connection, err := cluster(t).Dial(ctx, "ns", pod, port)
	if connection != nil {
		t.Cleanup(func() { _ = connection.Close() })
	}
	return connection, err
}

func TestContentGoesBothWays(t *testing.T) {
	connection, err := dial(t, "p-0", 6379)
	if err != nil {
		t.Fatal(err)
	}
	if err := connection.SetDeadline(time.Now().Add(10 * time.Second)); err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{"PING", strings.Repeat("x", 100<<10)} {
		go func() { _, _ = io.WriteString(connection, text) }()
		got := make([]byte, len(text))
		if _, err := io.ReadFull(connection, got); err != nil || string(got) != text {
			t.Errorf("%d bytes came back, %v", len(got), err)
		}
	}
}

func TestADeadlineEndsARead(t *testing.T) {
	connection, err := dial(t, "p-0", 6379)
	if err != nil {
		t.Fatal(err)
	}
	_ = connection.SetReadDeadline(time.Now().Add(50 * time.Millisecond))
	_, err = connection.Read(make([]byte, 1))
	var timeout net.Error
	if !errors.As(err, &timeout) || !timeout.Timeout() {
		t.Errorf("got %v", err)
	}
}

func TestWhatAPodRefusesIsSaid(t *testing.T) {
	connection, err := dial(t, "p-0", 1)
	if err != nil {
		t.Fatal(err)
	}
	_ = connection.SetReadDeadline(time.Now().Add(10 * time.Second))
	if _, err := connection.Read(make([]byte, 1)); err == nil || !strings.Contains(err.Error(), "port 1 of pod p-0: nobody listens on 1") {
		t.Errorf("got %v", err)
	}
}

func TestAPodThatIsNotThere(t *testing.T) {
	if _, err := dial(t, "p-1", 6379); err == nil || !strings.Contains(err.Error(), "connect to pod p-1") {
		t.Errorf("got %v", err)
	}
}

func TestDialingIsBounded(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	config := &rest.Config{Host: "http://" + listener.Addr().String()}
	kube, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if _, err := (Pods{Config: config, Core: kube.CoreV1().RESTClient()}).Dial(ctx, "ns", "p-0", 1); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v", err)
	}
}
