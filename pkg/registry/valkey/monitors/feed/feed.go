// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package feed

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/utils/clock"

	api "github.com/valkeykube/valkeykube/pkg/apis/valkey"
	"github.com/valkeykube/valkeykube/pkg/apis/valkey/v1alpha1"
	"github.com/valkeykube/valkeykube/pkg/valkeyclient"
)

// Look is what the Sentinels of one ValkeySentinel said.
type Look struct {
	// At is when it began.
	At        time.Time
	Namespace string
	// List are the monitors that are there, or should be; the reader may keep what it points to.
	List *api.MonitorList
	// Targets are the Sentinels; none if it is not known how to log in.
	Targets []valkeyclient.Target
	// Unanswered is the error for those who ask for nothing else, if no Sentinel answered.
	Unanswered error
}

// Source is where a Feed looks. Its methods are called from several goroutines.
type Source interface {
	// Sets are the ValkeySentinels of a namespace; of all if it is empty.
	Sets(ctx context.Context, namespace string) ([]*v1alpha1.ValkeySentinel, error)
	// Look asks the Sentinels of a set. fresh: now, and not up to a second ago.
	Look(ctx context.Context, set *v1alpha1.ValkeySentinel, fresh bool) (Look, error)
	// Listen calls tell for each thing that a Sentinel publishes, and when it has begun to listen. It returns when it cannot hear any
	// more, or with ctx.
	Listen(ctx context.Context, target valkeyclient.Target, tell func()) error
	// Changes calls tell for each change of an object that changes which monitors there should be: with the namespace. It returns when
	// it cannot tell any more, or with ctx.
	Changes(ctx context.Context, tell func(namespace string)) error
}

// Selection is what a client wants to see.
type Selection struct {
	// Namespace is empty for all.
	Namespace string
	// Matches is called with monitors of the namespace.
	Matches func(*api.Monitor) bool
	// Same tells of two states of a monitor whether who watches could not tell them apart, and needs not be told of the later one. Optional.
	Same func(before, after *api.Monitor) bool
}

func (s Selection) covers(namespace string) bool {
	return s.Namespace == "" || s.Namespace == namespace
}

// Feed is what is known of all monitors. While somebody watches it listens to the Sentinels: once to each, however many watch.
type Feed struct {
	source Source
	clock  clock.WithTicker

	mu       sync.Mutex
	state    *state
	watchers map[*watcher]struct{}
	// stop ends what listens; nil while nobody watches.
	stop context.CancelFunc
	// interest tells what listens that who watches what has changed.
	interest chan struct{}
}

// New makes a Feed that knows nothing yet.
func New(source Source, clock clock.WithTicker) *Feed {
	return &Feed{
		source: source, clock: clock, state: newState(clock.Now()), watchers: map[*watcher]struct{}{},
	}
}

// Listed is a list and its version.
type Listed struct {
	Monitors        []*api.Monitor
	ResourceVersion string
	// ObservedAt is when the oldest of the looks was made that the list is from.
	ObservedAt time.Time
}

// List asks the Sentinels, and is what they said. It fails if there are some and none of them answers. version is one that the list
// must not be older than, or with exact be of.
func (f *Feed) List(ctx context.Context, selection Selection, resourceVersion string, exact bool) (Listed, error) {
	wanted, err := f.reachable(resourceVersion)
	if err != nil {
		return Listed{}, err
	}
	observedAt, err := f.refresh(ctx, selection.Namespace)
	if err != nil {
		return Listed{}, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if exact && wanted != f.state.current {
		return Listed{}, apierrors.NewResourceExpired("only the current state of monitors can be listed: nothing is stored")
	}
	f.state.reach(wanted)
	return Listed{Monitors: f.selected(selection), ResourceVersion: f.state.current.String(), ObservedAt: observedAt}, nil
}

// Get is one monitor, asked for now; nil if there is none of the name.
func (f *Feed) Get(ctx context.Context, set *v1alpha1.ValkeySentinel, name string) (*api.Monitor, error) {
	look, err := f.source.Look(ctx, set, false)
	if err != nil {
		return nil, err
	}
	if look.Unanswered != nil {
		return nil, look.Unanswered
	}
	f.apply(set.UID, look)
	f.mu.Lock()
	defer f.mu.Unlock()
	if known := f.state.sets[set.UID]; known != nil && known.monitors[name] != nil {
		return known.monitors[name].DeepCopy(), nil
	}
	return nil, nil
}

// Start says where a watch begins.
type Start struct {
	ResourceVersion string
	// Initial begins with what is there now, and not with what came after ResourceVersion.
	Initial bool
	// InitialEnd says so with a bookmark when that has been sent.
	InitialEnd bool
	// Bookmarks tells from time to time how far the client has got.
	Bookmarks bool
}

// Watch sends how what is selected changes until ctx ends or it is stopped.
func (f *Feed) Watch(ctx context.Context, selection Selection, start Start) (watch.Interface, error) {
	from, err := parseVersion(start.ResourceVersion)
	if err != nil {
		return nil, err
	}
	if start.Initial {
		if from, err = f.reachable(start.ResourceVersion); err != nil {
			return nil, err
		}
		if _, err := f.refresh(ctx, selection.Namespace); err != nil {
			return nil, err
		}
	}
	w := &watcher{feed: f, selection: selection, bookmarks: start.Bookmarks, out: make(chan watch.Event), more: make(chan struct{}, 1)}
	w.ended, w.end = context.WithCancel(ctx)
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := f.begin(w, from, start); err != nil {
		w.end()
		return nil, err
	}
	f.watchers[w] = struct{}{}
	f.attend()
	go w.run()
	return w, nil
}

// begin queues what a watcher gets first. The caller holds mu.
func (f *Feed) begin(w *watcher, from version, start Start) error {
	if !start.Initial {
		if from == 0 {
			return nil
		}
		missed, known := f.state.since(from)
		if !known {
			return apierrors.NewResourceExpired("too old or foreign resourceVersion: " + from.String() + "; list again")
		}
		w.tell(missed)
		return nil
	}
	f.state.reach(from)
	for _, monitor := range f.selected(w.selection) {
		w.put(watch.Event{Type: watch.Added, Object: monitor})
	}
	if start.InitialEnd {
		w.put(bookmarkAt(f.state.current, true))
	}
	return nil
}

// selected are copies, in order. The caller holds mu.
func (f *Feed) selected(selection Selection) []*api.Monitor {
	var found []*api.Monitor
	for _, monitor := range f.state.monitors(selection.Namespace) {
		if selection.Matches(monitor) {
			found = append(found, monitor.DeepCopy())
		}
	}
	slices.SortFunc(found, func(a, b *api.Monitor) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	})
	return found
}

// ahead is how much later than ours another API server's clock may be.
const ahead = time.Minute

// reachable is a version that what is asked for now is not older than.
func (f *Feed) reachable(resourceVersion string) (version, error) {
	wanted, err := parseVersion(resourceVersion)
	if err != nil {
		return 0, err
	}
	if now := f.clock.Now(); wanted.at().After(now.Add(ahead)) {
		f.mu.Lock()
		defer f.mu.Unlock()
		if wanted > f.state.current {
			return 0, tooLarge(wanted, f.state.current)
		}
	}
	return wanted, nil
}

func (f *Feed) take(w *watcher) []watch.Event {
	f.mu.Lock()
	defer f.mu.Unlock()
	events := w.queue
	w.queue = nil
	return events
}

func (f *Feed) queueBookmark(w *watcher) {
	f.mu.Lock()
	defer f.mu.Unlock()
	w.put(bookmarkAt(f.state.current, false))
}

// apply takes over what a look has seen, and tells those who watch.
func (f *Feed) apply(set types.UID, look Look) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.tell(f.state.apply(set, look, f.clock.Now()))
}

// tell is told to all who watch. The caller holds mu.
func (f *Feed) tell(changes []change) {
	if len(changes) == 0 {
		return
	}
	for w := range f.watchers {
		w.tell(changes)
	}
}
