// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package valkey

import (
	"context"
	"strconv"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
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
	// written is the latest resourceVersion that a writer has made. Who comes after reads no older state.
	written uint64
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

// End lets the next writer have the name. The object is what was written, nil when nothing was.
func (w *Write) End(object metav1.Object) {
	w.release()
	if object == nil {
		return
	}
	if version, err := strconv.ParseUint(object.GetResourceVersion(), 10, 64); err == nil {
		w.names.mu.Lock()
		defer w.names.mu.Unlock()
		w.names.written = max(w.names.written, version)
	}
}

// hold waits until the name is this write's, and returns the resourceVersion that it must know at least. It fails only with
// the context. A write that holds another name gives it up: it has been tried before, and failed.
func (w *Write) hold(ctx context.Context, key string) (resourceVersion string, err error) {
	if w.key != key {
		w.release()
		if err := w.names.take(ctx, key); err != nil {
			return "", err
		}
		w.key = key
	}
	w.names.mu.Lock()
	defer w.names.mu.Unlock()
	return strconv.FormatUint(w.names.written, 10), nil
}

func (w *Write) release() {
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
