// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package valkeytest

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/valkeykube/valkeykube/pkg/valkeyclient"
)

// Locate tells where the primary is now, as a client would find out.
type Locate func(ctx context.Context) (valkeyclient.Address, error)

// LocateBySentinels asks the Sentinels in turn.
func (s *Set) LocateBySentinels(ctx context.Context) (valkeyclient.Address, error) {
	var address valkeyclient.Address
	err := fmt.Errorf("no Sentinels")
	for _, sentinel := range s.Sentinels {
		ctx, cancel := context.WithTimeout(ctx, 200*time.Millisecond)
		address, err = sentinel.Sentinel().PrimaryAddr(ctx, s.Monitor)
		cancel()
		if err == nil {
			return address, nil
		}
	}
	return address, err
}

// LocateByRole asks the nodes who of them is primary, as a Service that follows the roles would.
func (s *Set) LocateByRole(ctx context.Context) (valkeyclient.Address, error) {
	for _, node := range s.Nodes {
		ctx, cancel := context.WithTimeout(ctx, 200*time.Millisecond)
		role, err := node.Node().Role(ctx)
		cancel()
		if err == nil && role.Role == valkeyclient.RolePrimary {
			return node.Address, nil
		}
	}
	return valkeyclient.Address{}, fmt.Errorf("nobody says that it is primary")
}

// Load is writers that each write keys of their own, one after the other, to wherever the primary is, and remember what was
// acknowledged.
type Load struct {
	cancel context.CancelFunc
	done   sync.WaitGroup

	mu         sync.Mutex
	acked      []string
	last       time.Time
	longestGap time.Duration
}

// StartLoad starts the writers, each of at most 800 writes/s, and returns when some writes were acknowledged.
func StartLoad(t testing.TB, writers int, locate Locate) *Load {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	load := &Load{cancel: cancel}
	t.Cleanup(func() { load.Stop() })
	for w := range writers {
		load.done.Go(func() { load.write(ctx, fmt.Sprintf("w%d", w), locate) })
	}
	Eventually(t, "writes are acknowledged", func(context.Context) error {
		if n := load.Acknowledged(); n < 200*writers {
			return fmt.Errorf("%d", n)
		}
		return nil
	})
	return load
}

// Stop ends the writers. Twice is fine.
func (l *Load) Stop() {
	l.cancel()
	l.done.Wait()
}

// Acknowledged counts the writes that were.
func (l *Load) Acknowledged() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.acked)
}

// ResetGap begins to measure the longest gap anew.
func (l *Load) ResetGap() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.longestGap = 0
}

// LongestGap is the longest time between two acknowledged writes, of whichever writers.
func (l *Load) LongestGap() time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.longestGap
}

func (l *Load) acknowledge(key string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := time.Now()
	if !l.last.IsZero() {
		l.longestGap = max(l.longestGap, now.Sub(l.last))
	}
	l.last = now
	l.acked = append(l.acked, key)
}

// write never repeats a key: what is not acknowledged may or may not be there, and is not counted.
func (l *Load) write(ctx context.Context, name string, locate Locate) {
	for n := 0; ctx.Err() == nil; {
		address, err := locate(ctx)
		if err == nil {
			n = l.writeTo(ctx, address, name, n)
		}
		pause(ctx, 2*time.Millisecond)
	}
}

// writeTo writes until something goes wrong, and returns the number of the next key.
func (l *Load) writeTo(ctx context.Context, address valkeyclient.Address, name string, n int) int {
	connection, err := net.DialTimeout("tcp", address.String(), 200*time.Millisecond)
	if err != nil {
		return n
	}
	defer func() { _ = connection.Close() }()
	defer context.AfterFunc(ctx, func() { _ = connection.Close() })()
	reader := bufio.NewReader(connection)
	for ; ctx.Err() == nil; n++ {
		key := fmt.Sprintf("%s:%d", name, n)
		_ = connection.SetDeadline(time.Now().Add(15 * time.Second))
		if _, err := fmt.Fprintf(connection, "SET %s %d\r\n", key, n); err != nil {
			return n + 1
		}
		answer, err := reader.ReadString('\n')
		if err != nil || strings.TrimSpace(answer) != "+OK" {
			return n + 1
		}
		l.acknowledge(key)
		pause(ctx, 1250*time.Microsecond)
	}
	return n
}

func pause(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}

// Lost counts the acknowledged writes that the node does not have. Stop the load first.
func (l *Load) Lost(t testing.TB, node *Process) int {
	t.Helper()
	connection, err := net.Dial("tcp", node.Address.String())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = connection.Close() }()
	_ = connection.SetDeadline(time.Now().Add(Patience))
	go func() {
		writer := bufio.NewWriter(connection)
		for _, key := range l.acked {
			_, _ = fmt.Fprintf(writer, "EXISTS %s\r\n", key)
		}
		_ = writer.Flush()
	}()
	reader := bufio.NewReader(connection)
	lost := 0
	for range l.acked {
		answer, err := reader.ReadString('\n')
		if err != nil {
			t.Fatalf("reading back from %s: %v", node.Name, err)
		}
		switch strings.TrimSpace(answer) {
		case ":1":
		case ":0":
			lost++
		default:
			t.Fatalf("reading back from %s: %s", node.Name, answer)
		}
	}
	return lost
}
