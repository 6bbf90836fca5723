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

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/valkeykube/valkeykube/pkg/plugin/tunnel/tunneltest"
)

// cluster has one pod: what is sent to port 6379 of it comes back, any other port is refused.
func cluster(t *testing.T) Pods {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/api/v1/namespaces/ns/pods/p-0/portforward" {
			http.Error(w, "no such pod", http.StatusNotFound)
			return
		}
		tunneltest.Serve(w, r, func(port string) (io.ReadWriteCloser, error) {
			if port != "6379" {
				return nil, fmt.Errorf("nobody listens on %s", port)
			}
			near, far := net.Pipe()
			go func() { _, _ = io.Copy(far, far) }()
			return near, nil
		})
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
