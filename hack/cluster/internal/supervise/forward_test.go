// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package supervise

import (
	"context"
	"io"
	"net"
	"testing"
)

// echo answers with what it got, once the sender is done.
func echo(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { listener.Close() })
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go func() {
				defer conn.Close()
				content, err := io.ReadAll(conn)
				if err == nil {
					_, _ = conn.Write(append([]byte("got "), content...))
				}
			}()
		}
	}()
	return listener.Addr().String()
}

func forwarder(t *testing.T, to string) (address string, stop func() error) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	result := make(chan error, 1)
	go func() { result <- Forward(ctx, listener, to) }()
	return listener.Addr().String(), func() error { cancel(); return <-result }
}

func TestForwardPassesBothWaysAndTheEnd(t *testing.T) {
	address, stop := forwarder(t, echo(t))
	for _, message := range []string{"a", "", string(make([]byte, 1<<20))} {
		conn, err := net.Dial("tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(conn, message); err != nil {
			t.Fatal(err)
		}
		if err := conn.(*net.TCPConn).CloseWrite(); err != nil {
			t.Fatal(err)
		}
		answer, err := io.ReadAll(conn)
		if err != nil || string(answer) != "got "+message {
			t.Errorf("%d bytes, %v, want %d", len(answer), err, len(message)+4)
		}
		conn.Close()
	}
	if err := stop(); err != nil {
		t.Errorf("stopped: %v", err)
	}
}

func TestForwardEndsAConnectionThatNobodyTakes(t *testing.T) {
	nobody, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	nobody.Close()
	address, _ := forwarder(t, nobody.Addr().String())
	conn, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if n, err := conn.Read(make([]byte, 1)); n != 0 || err == nil {
		t.Errorf("read %d bytes, %v", n, err)
	}
}
