// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package framework

import (
	"bytes"
	"context"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// Stay connects to a server, says nothing, and connects again when the server has ended the connection. The function that it returns waits until
// the server has ended so many connections.
func (c *Client) Stay(t *testing.T, addr string, times int, patience time.Duration) (wait func()) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), patience+time.Minute)
	t.Cleanup(cancel)
	connected := &watched{word: "connected", began: make(chan struct{})}
	cmd := exec.CommandContext(ctx, "kubectl", "exec", "-n", c.namespace, c.pod, "--", "/testclient", "stay", "-addr", addr,
		"-times", strconv.Itoa(times), "-for", patience.String())
	var ended bytes.Buffer
	cmd.Stdout, cmd.Stderr = &ended, connected
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	connected.await(t)
	return func() {
		t.Helper()
		if err := cmd.Wait(); err != nil {
			t.Errorf("connections to %s: %v: %s", addr, err, connected.printed.String())
		}
		t.Logf("connections to %s were ended after %s", addr, strings.Fields(ended.String()))
	}
}

// Crowd takes every connection that a server gives, and waits until there are no more. The function that it returns ends them.
func (c *Client) Crowd(t *testing.T, addr string) (leave func()) {
	t.Helper()
	full := &watched{word: "full", began: make(chan struct{})}
	cmd := exec.CommandContext(context.WithoutCancel(t.Context()), "kubectl", "exec", "-i", "-n", c.namespace, c.pod, "--", "/testclient", "crowd", "-addr", addr)
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stderr = full
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	leave = sync.OnceFunc(func() {
		_ = stdin.Close()
		if err := cmd.Wait(); err != nil {
			t.Errorf("crowd at %s: %v: %s", addr, err, full.printed.String())
		}
	})
	t.Cleanup(leave)
	full.await(t)
	return leave
}
