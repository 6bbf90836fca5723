// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package feed

import (
	"context"
	"reflect"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/valkeykube/valkeykube/pkg/apis/valkey/v1alpha1"
	"github.com/valkeykube/valkeykube/pkg/valkeyclient"
)

const (
	// relook is after how long the Sentinels are asked again when none of them has said anything.
	relook = 10 * time.Second
	// settle is how long is waited after something was said before the Sentinels are asked: more will be said.
	settle = 30 * time.Millisecond
	// again is after how long a Sentinel that cannot be heard is listened to again.
	again = time.Second
)

// attend begins to listen, or lets those who listen know that who watches what has changed. The caller holds mu.
func (f *Feed) attend() {
	if f.stop != nil {
		signal(f.interest)
		return
	}
	// Ends with the last watcher: see leave.
	ctx, cancel := context.WithCancel(context.Background())
	f.stop, f.interest = cancel, make(chan struct{}, 1)
	go f.follow(ctx, f.interest)
}

func (f *Feed) leave(w *watcher) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.watchers, w)
	switch {
	case len(f.watchers) > 0:
		signal(f.interest)
	case f.stop != nil:
		f.stop()
		f.stop = nil
	}
}

// signal never waits: one that is there already will do.
func signal(to chan struct{}) {
	select {
	case to <- struct{}{}:
	default:
	}
}

// namespaces are those that somebody watches; only the empty one if somebody watches all.
func (f *Feed) namespaces() map[string]bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	watched := map[string]bool{}
	for w := range f.watchers {
		if w.selection.Namespace == "" {
			return map[string]bool{"": true}
		}
		watched[w.selection.Namespace] = true
	}
	return watched
}

// follower follows one set.
type follower struct {
	set  *v1alpha1.ValkeySentinel
	stop context.CancelFunc
	// poked says that something may have changed.
	poked chan struct{}
}

// follow keeps one follower for each set that somebody watches, until ctx ends.
func (f *Feed) follow(ctx context.Context, interest <-chan struct{}) {
	followers := map[types.UID]*follower{}
	var mu sync.Mutex // the changes of objects come from another goroutine
	changed := make(chan struct{}, 1)
	go f.listenToObjects(ctx, func(namespace string) {
		mu.Lock()
		defer mu.Unlock()
		for _, one := range followers {
			if one.set.Namespace == namespace {
				signal(one.poked)
			}
		}
		signal(changed)
	})
	for {
		wanted, complete := f.wanted(ctx)
		mu.Lock()
		for uid, one := range followers {
			if set := wanted[uid]; complete && set == nil || set != nil && set.Generation != one.set.Generation {
				one.stop()
				delete(followers, uid)
			}
		}
		for uid, set := range wanted {
			if followers[uid] == nil {
				followers[uid] = f.newFollower(ctx, set)
			}
		}
		mu.Unlock()
		select {
		case <-ctx.Done():
			return
		case <-interest:
		case <-changed:
			f.wait(ctx, settle)
		case <-f.clock.After(relook):
		}
	}
}

// wanted are the sets that somebody watches; not complete if they could not all be listed.
func (f *Feed) wanted(ctx context.Context) (sets map[types.UID]*v1alpha1.ValkeySentinel, complete bool) {
	sets, complete = map[types.UID]*v1alpha1.ValkeySentinel{}, true
	for namespace := range f.namespaces() {
		listed, err := f.list(ctx, namespace)
		if err != nil { // at the next look, then
			complete = false
			continue
		}
		for _, set := range listed {
			sets[set.UID] = set
		}
	}
	return sets, complete
}

func (f *Feed) listenToObjects(ctx context.Context, tell func(namespace string)) {
	for ctx.Err() == nil {
		if err := f.source.Changes(ctx, tell); err != nil {
			f.wait(ctx, again)
		}
	}
}

func (f *Feed) wait(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-f.clock.After(d):
	}
}

func (f *Feed) newFollower(ctx context.Context, set *v1alpha1.ValkeySentinel) *follower {
	one := &follower{set: set, poked: make(chan struct{}, 1)}
	ctx, one.stop = context.WithCancel(ctx)
	go f.attendTo(ctx, one)
	return one
}

// attendTo looks at a set whenever one of its Sentinels has said something, and now and then.
func (f *Feed) attendTo(ctx context.Context, one *follower) {
	var targets []valkeyclient.Target
	hangUp := func() {}
	defer func() { hangUp() }()
	for ctx.Err() == nil {
		began := f.clock.Now()
		look, err := f.source.Look(ctx, one.set, true)
		if err == nil && ctx.Err() == nil {
			f.apply(one.set.UID, look)
			if !reflect.DeepEqual(targets, look.Targets) {
				hangUp()
				targets = look.Targets
				hangUp = f.listenTo(ctx, one, targets)
			}
		}
		// However much is said, no more than half of the time is spent with looking.
		f.wait(ctx, max(settle, f.clock.Since(began)))
		select {
		case <-ctx.Done():
		case <-one.poked:
			f.wait(ctx, settle)
		case <-f.clock.After(relook):
		}
	}
}

func (f *Feed) listenTo(ctx context.Context, one *follower, targets []valkeyclient.Target) (hangUp context.CancelFunc) {
	ctx, hangUp = context.WithCancel(ctx)
	for _, target := range targets {
		go func() {
			for ctx.Err() == nil {
				heard := false
				_ = f.source.Listen(ctx, target, func() {
					heard = true
					signal(one.poked)
				})
				if heard { // it is away, which is news
					signal(one.poked)
				}
				f.wait(ctx, again)
			}
		}()
	}
	return hangUp
}
