// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package tunnel

import (
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"time"

	"k8s.io/streaming/pkg/httpstream"
)

const (
	// maxProblem bounds what a kubelet may say, in bytes.
	maxProblem = 4 << 10
	// problemPatience is how long the reason may come behind the end of the content.
	problemPatience = time.Second
)

// connection is the near end of a pipe, which has deadlines; the streams have none.
type connection struct {
	net.Conn

	mu      sync.Mutex
	problem error
}

// Read tells why the content has ended, where the kubelet said so.
func (c *connection) Read(into []byte) (int, error) {
	n, err := c.Conn.Read(into)
	return n, c.because(err)
}

// Write tells the same of what can no longer be sent.
func (c *connection) Write(content []byte) (int, error) {
	n, err := c.Conn.Write(content)
	return n, c.because(err)
}

func (c *connection) because(err error) error {
	if !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrClosedPipe) {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.problem != nil {
		return c.problem
	}
	return err
}

// join lets what is written to the returned connection go into the pod, and what comes from there be read from it. Closing it closes all.
func join(stream httpstream.Connection, content io.ReadWriteCloser, problems io.Reader, pod string, port int) net.Conn {
	near, far := net.Pipe()
	c := &connection{Conn: near}
	said := make(chan error, 1)
	go func() {
		text, _ := io.ReadAll(io.LimitReader(problems, maxProblem))
		if reason := strings.TrimSpace(string(text)); reason != "" {
			said <- fmt.Errorf("connect to port %d of pod %s: %s", port, pod, reason)
		}
		close(said)
	}()
	go func() {
		_, err := io.Copy(content, far)
		_ = content.Close()
		if err != nil { // the pod takes no more; the reason may still come, and then the other direction ends all
			time.AfterFunc(2*problemPatience, func() { _ = stream.Close() })
			return
		}
		// The near end was closed: nobody waits for an answer any more.
		_ = stream.Close()
		_ = far.Close()
	}()
	go func() {
		_, _ = io.Copy(far, content)
		select {
		case err := <-said:
			c.mu.Lock()
			c.problem = err
			c.mu.Unlock()
		case <-time.After(problemPatience):
		}
		_ = far.Close()
		_ = stream.Close()
	}()
	return c
}
