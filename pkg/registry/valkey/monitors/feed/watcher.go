// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package feed

import (
	"context"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"

	api "github.com/valkeykube/valkeykube/pkg/apis/valkey"
)

const (
	// queueLimit is how many events may wait for a client. One that does not keep up is cut off, and goes on from the last version it got.
	queueLimit = 2 * pastLimit
	// bookmarkPeriod is how often a client is told how far it has got.
	bookmarkPeriod = 30 * time.Second
)

// watcher is one client that watches.
type watcher struct {
	feed      *Feed
	selection Selection
	bookmarks bool
	out       chan watch.Event

	// queue is what waits to be sent; guarded by feed.mu.
	queue []watch.Event
	// more says that there is something in the queue, or that it is over.
	more chan struct{}

	end     context.CancelFunc
	ended   context.Context //nolint:containedctx // the life of the watcher, which outlives the call that made it
	stopped sync.Once
}

var _ watch.Interface = (*watcher)(nil)

// ResultChan is closed when the watch has ended.
func (w *watcher) ResultChan() <-chan watch.Event { return w.out }

// Stop ends the watch. Nothing of it remains.
func (w *watcher) Stop() {
	w.stopped.Do(func() {
		w.end()
		w.feed.leave(w)
	})
}

// run sends what is queued until the watch is stopped.
func (w *watcher) run() {
	defer close(w.out)
	defer w.Stop()
	bookmark := w.feed.clock.NewTicker(bookmarkPeriod)
	defer bookmark.Stop()
	for {
		select {
		case <-w.ended.Done():
			return
		case <-bookmark.C():
			if w.bookmarks {
				w.feed.queueBookmark(w)
			}
			continue
		case <-w.more:
		}
		for _, event := range w.feed.take(w) {
			select {
			case w.out <- event:
			case <-w.ended.Done():
				return
			}
		}
	}
}

// tell queues what a change is to this client. The caller holds feed.mu.
func (w *watcher) tell(changes []change) {
	for _, made := range changes {
		event, is := w.event(made)
		switch {
		case !is:
		case len(w.queue) >= queueLimit:
			w.queue = nil
			w.end()
			return
		default:
			w.put(event)
		}
	}
}

func (w *watcher) event(made change) (watch.Event, bool) {
	if !w.selection.covers(made.namespace()) {
		return watch.Event{}, false
	}
	had := made.old != nil && w.selection.Matches(made.old)
	has := made.new != nil && w.selection.Matches(made.new)
	switch {
	case had && has && w.selection.Same != nil && w.selection.Same(made.old, made.new):
	case had && has:
		return watch.Event{Type: watch.Modified, Object: made.new.DeepCopy()}, true
	case has:
		return watch.Event{Type: watch.Added, Object: made.new.DeepCopy()}, true
	case had:
		gone := made.old.DeepCopy()
		gone.ResourceVersion = made.version.String()
		return watch.Event{Type: watch.Deleted, Object: gone}, true
	}
	return watch.Event{}, false
}

// put queues an event. The caller holds feed.mu.
func (w *watcher) put(event watch.Event) {
	w.queue = append(w.queue, event)
	select {
	case w.more <- struct{}{}:
	default:
	}
}

func bookmarkAt(v version, initial bool) watch.Event {
	monitor := &api.Monitor{ObjectMeta: metav1.ObjectMeta{ResourceVersion: v.String()}}
	if initial {
		monitor.Annotations = map[string]string{metav1.InitialEventsAnnotationKey: "true"}
	}
	return watch.Event{Type: watch.Bookmark, Object: monitor}
}
