// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package live

import (
	"context"
	"sync"
	"time"

	"k8s.io/utils/clock"
)

// Memory answers callers that ask the same at the same time, or shortly after one another, with one look. The zero value with
// Clock and For is usable.
type Memory[K comparable, V any] struct {
	Clock clock.PassiveClock
	// For is how long an answer is given again.
	For time.Duration
	// Deadline bounds one look, whatever becomes of those who wait for it.
	Deadline time.Duration

	mu    sync.Mutex
	looks map[K]*look[V]
}

type look[V any] struct {
	done  chan struct{}
	at    time.Time
	value V
	err   error
}

// Get is the answer of a look that is fresh, or under way, or made now. Failures are not remembered.
func (m *Memory[K, V]) Get(ctx context.Context, key K, ask func(context.Context) (V, error)) (V, error) {
	return m.wait(ctx, m.join(ctx, key, ask, false))
}

// Renew is the answer of a look that begins now, which then is that of Get.
func (m *Memory[K, V]) Renew(ctx context.Context, key K, ask func(context.Context) (V, error)) (V, error) {
	return m.wait(ctx, m.join(ctx, key, ask, true))
}

func (m *Memory[K, V]) wait(ctx context.Context, current *look[V]) (V, error) {
	select {
	case <-current.done:
		return current.value, current.err
	case <-ctx.Done():
		var none V
		return none, context.Cause(ctx)
	}
}

func (m *Memory[K, V]) join(ctx context.Context, key K, ask func(context.Context) (V, error), renew bool) *look[V] {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.forget()
	if known := m.looks[key]; known != nil && !renew {
		return known
	}
	if m.looks == nil {
		m.looks = map[K]*look[V]{}
	}
	started := &look[V]{done: make(chan struct{})}
	m.looks[key] = started
	// Others may wait for the look whose first caller goes away.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), m.Deadline)
	go func() {
		defer cancel()
		value, err := ask(ctx)
		m.mu.Lock()
		defer m.mu.Unlock()
		started.value, started.err, started.at = value, err, m.Clock.Now()
		if err != nil && m.looks[key] == started {
			delete(m.looks, key)
		}
		close(started.done)
	}()
	return started
}

// forget drops answers that are no longer given, so that nothing grows with the number of keys ever asked for.
func (m *Memory[K, V]) forget() {
	now := m.Clock.Now()
	for key, known := range m.looks {
		if !known.at.IsZero() && now.Sub(known.at) >= m.For {
			delete(m.looks, key)
		}
	}
}
