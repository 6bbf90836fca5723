// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package valkey

import (
	"context"
	"sync"
)

// MonitorNames lets the writers of one monitor name take turns, so that of two that would take the same name the later one sees
// the earlier one's object. It knows the writers of this process only: with several API servers two can still take one name
// within the milliseconds that a write needs to reach the other server's cache. Then the ValkeySentinel controller monitors the
// older Valkey, leaves the newer alone, and says so in the condition MonitorConflict.
//
// The zero value is ready to use.
type MonitorNames struct {
	mu    sync.Mutex
	turns map[string]*turn
}

// turn is the right to write one name: a token in the channel.
type turn struct {
	token chan struct{}
	users int
}

// Write is one write of a Valkey. It holds no more than one name.
type Write struct {
	names *MonitorNames
	key   string
}

type writeKey struct{}

// Begin returns the context of one write. End it.
func (n *MonitorNames) Begin(ctx context.Context) (context.Context, *Write) {
	write := &Write{names: n}
	return context.WithValue(ctx, writeKey{}, write), write
}

// End lets the next writer have the name. Call it when the object is written, or will not be.
func (w *Write) End() {
	if w.key == "" {
		return
	}
	w.names.mu.Lock()
	defer w.names.mu.Unlock()
	current := w.names.turns[w.key]
	current.token <- struct{}{}
	w.names.leave(w.key, current)
	w.key = ""
}

// hold waits until the name is this write's. It fails only with the context. A write that holds another name gives it up: it
// has been tried before, and failed.
func (w *Write) hold(ctx context.Context, key string) error {
	if w.key == key {
		return nil
	}
	w.End()
	if err := w.names.take(ctx, key); err != nil {
		return err
	}
	w.key = key
	return nil
}

func (n *MonitorNames) take(ctx context.Context, key string) error {
	n.mu.Lock()
	current, ok := n.turns[key]
	if !ok {
		current = &turn{token: make(chan struct{}, 1)}
		current.token <- struct{}{}
		if n.turns == nil {
			n.turns = map[string]*turn{}
		}
		n.turns[key] = current
	}
	current.users++
	n.mu.Unlock()
	select {
	case <-current.token:
		return nil
	case <-ctx.Done():
		n.mu.Lock()
		defer n.mu.Unlock()
		n.leave(key, current)
		return ctx.Err()
	}
}

// leave forgets a name that nobody waits for. The lock must be held.
func (n *MonitorNames) leave(key string, current *turn) {
	if current.users--; current.users == 0 {
		delete(n.turns, key)
	}
}
