// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package feed

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"runtime/pprof"
	"strings"
	"sync"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/utils/clock"

	api "github.com/valkeykube/valkeykube/pkg/apis/valkey"
	"github.com/valkeykube/valkeykube/pkg/apis/valkey/v1alpha1"
	"github.com/valkeykube/valkeykube/pkg/valkeyclient"
)

// scripted is a Source of one set whose one Sentinel says what the test wants.
type scripted struct {
	mu        sync.Mutex
	primary   string
	away      error
	gone      bool
	speak     chan struct{}
	listening int
	mostHeard int
}

func newScripted() *scripted { return &scripted{primary: "p-0", speak: make(chan struct{})} }

// silent tells nothing by itself: whoever feeds a test by hand wants no other word between.
type silent struct{ *scripted }

func (silent) Sets(ctx context.Context, _ string) ([]*v1alpha1.ValkeySentinel, error) {
	<-ctx.Done()
	return nil, ctx.Err()
}

func (s *scripted) says(primary string) {
	s.mu.Lock()
	s.primary = primary
	s.mu.Unlock()
	s.speak <- struct{}{}
}

func (s *scripted) Sets(context.Context, string) ([]*v1alpha1.ValkeySentinel, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.gone {
		return nil, nil
	}
	return []*v1alpha1.ValkeySentinel{{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "watch", UID: "u"}}}, nil
}

func (s *scripted) Look(context.Context, *v1alpha1.ValkeySentinel, bool) (Look, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return lookOf(time.Now(), s.away, "watch.m", s.primary), nil
}

func (s *scripted) Listen(ctx context.Context, _ valkeyclient.Target, tell func()) error {
	s.mu.Lock()
	s.listening++
	s.mostHeard = max(s.mostHeard, s.listening)
	s.mu.Unlock()
	defer func() { s.mu.Lock(); s.listening--; s.mu.Unlock() }()
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-s.speak:
			tell()
		}
	}
}

func (s *scripted) Changes(ctx context.Context, _ func(string)) error {
	<-ctx.Done()
	return ctx.Err()
}

// lookOf is a look that shows monitors: names and primaries in turn.
func lookOf(at time.Time, unanswered error, namesAndPrimaries ...string) Look {
	look := Look{At: at, Namespace: "ns", Unanswered: unanswered, List: &api.MonitorList{}, Targets: []valkeyclient.Target{{Name: "s-0", Address: "s:1"}}}
	look.List.Sentinels = []api.SentinelAnswer{{Pod: "s-0"}}
	if unanswered != nil {
		look.List.Sentinels[0].Error = "Timeout: it takes too long"
		return look
	}
	for i := 0; i < len(namesAndPrimaries); i += 2 {
		monitor := api.Monitor{PrimaryAddress: namesAndPrimaries[i+1], Agreed: true}
		monitor.Namespace, monitor.Name = "ns", namesAndPrimaries[i]
		look.List.Items = append(look.List.Items, monitor)
	}
	return look
}

func everything(namespace string) Selection {
	return Selection{Namespace: namespace, Matches: func(*api.Monitor) bool { return true }}
}

func receive(t *testing.T, w watch.Interface) (watch.EventType, *api.Monitor) {
	t.Helper()
	select {
	case event, open := <-w.ResultChan():
		if !open {
			t.Fatal("the watch has ended")
		}
		return event.Type, event.Object.(*api.Monitor)
	case <-time.After(time.Minute):
		t.Fatal("no event")
	}
	return "", nil
}

func TestWatchersHearWhatTheSentinelsSay(t *testing.T) {
	source := newScripted()
	f := New(source, clock.RealClock{})
	var watchers []watch.Interface
	for range 5 {
		w, err := f.Watch(t.Context(), everything("ns"), Start{Initial: true})
		if err != nil {
			t.Fatal(err)
		}
		if kind, monitor := receive(t, w); kind != watch.Added || monitor.PrimaryAddress != "p-0" {
			t.Errorf("first %s %+v", kind, monitor)
		}
		watchers = append(watchers, w)
	}
	source.says("p-1")
	for _, w := range watchers {
		if kind, monitor := receive(t, w); kind != watch.Modified || monitor.PrimaryAddress != "p-1" {
			t.Errorf("then %s %+v", kind, monitor)
		}
	}
	source.mu.Lock()
	if source.mostHeard != 1 {
		t.Errorf("%d subscriptions for %d watchers", source.mostHeard, len(watchers))
	}
	source.mu.Unlock()
	for _, w := range watchers {
		w.Stop()
		w.Stop() // twice is fine
	}
	awaitNobody(t)
	if f.stop != nil || len(f.watchers) != 0 {
		t.Errorf("something is left: %d watchers", len(f.watchers))
	}

	// What happens while nobody watches is told to who goes on from before.
	source.mu.Lock()
	source.primary = "p-2"
	source.mu.Unlock()
	f.mu.Lock()
	last := f.state.current.String()
	f.mu.Unlock()
	w, err := f.Watch(t.Context(), everything(""), Start{ResourceVersion: last})
	if err != nil {
		t.Fatal(err)
	}
	if kind, monitor := receive(t, w); kind != watch.Modified || monitor.PrimaryAddress != "p-2" {
		t.Errorf("afterwards %s %+v", kind, monitor)
	}
	w.Stop()
	awaitNobody(t)
}

// awaitNobody waits until no goroutine of the package but the test is left.
func awaitNobody(t *testing.T) {
	t.Helper()
	deadline := time.Now().Add(time.Minute)
	for {
		var all bytes.Buffer
		_ = pprof.Lookup("goroutine").WriteTo(&all, 2)
		left := ""
		for stack := range strings.SplitSeq(all.String(), "\n\n") {
			if strings.Contains(stack, "monitors/feed.") && !strings.Contains(stack, "testing.tRunner") {
				left = stack
			}
		}
		if left == "" {
			return
		}
		if time.Now().After(deadline) {
			t.Fatal(left)
		}
		time.Sleep(10 * time.Millisecond)
	}
}

func TestAWatchEndsWithItsContext(t *testing.T) {
	f := New(newScripted(), clock.RealClock{})
	ctx, cancel := context.WithCancel(t.Context())
	w, err := f.Watch(ctx, everything("ns"), Start{})
	if err != nil {
		t.Fatal(err)
	}
	cancel()
	for range w.ResultChan() { //nolint:revive // until it is closed
	}
	awaitNobody(t)
}

func TestNobodyAnswering(t *testing.T) {
	source := newScripted()
	f := New(source, clock.RealClock{})
	w, err := f.Watch(t.Context(), everything("ns"), Start{Initial: true})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Stop()
	receive(t, w)
	source.mu.Lock()
	source.away = errors.New("no Sentinel answers")
	source.mu.Unlock()
	source.speak <- struct{}{}
	kind, monitor := receive(t, w)
	if kind != watch.Modified || monitor.PrimaryAddress != "" || monitor.Agreed || len(monitor.Views) != 1 || monitor.Views[0].Error != "Timeout" {
		t.Errorf("%s %+v", kind, monitor)
	}
	if _, err := f.List(t.Context(), everything("ns"), "", false); err == nil || !strings.Contains(err.Error(), "no Sentinel answers") {
		t.Errorf("a list of what nobody tells: %v", err)
	}
	if _, err := f.Watch(t.Context(), everything("ns"), Start{Initial: true}); err == nil {
		t.Error("a watch begins with what nobody tells")
	}
	if monitor, err := f.Get(t.Context(), &v1alpha1.ValkeySentinel{ObjectMeta: metav1.ObjectMeta{UID: "u"}}, "watch.m"); err == nil {
		t.Errorf("got %+v", monitor)
	}
	source.mu.Lock()
	source.away, source.gone = nil, true
	source.mu.Unlock()
	if listed, err := f.List(t.Context(), everything("ns"), "", false); err != nil || len(listed.Monitors) != 0 {
		t.Errorf("a list without sets: %v, %+v", err, listed)
	}
	if kind, monitor := receive(t, w); kind != watch.Deleted || monitor.Name != "watch.m" || monitor.ResourceVersion != f.state.current.String() {
		t.Errorf("%s %+v", kind, monitor)
	}
}

func TestAClientThatDoesNotKeepUpIsCutOff(t *testing.T) {
	f := New(silent{newScripted()}, clock.RealClock{})
	w, err := f.Watch(t.Context(), everything("ns"), Start{})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Stop()
	set := types.UID("another")
	for i := range 2*queueLimit + 3 {
		f.apply(set, lookOf(time.Now(), nil, "watch.x", fmt.Sprint(i)))
	}
	got := 0
	for range w.ResultChan() {
		got++
	}
	if got > queueLimit+1 {
		t.Errorf("%d events were kept", got)
	}
}

func TestStateKeepsTheOrderOfLooks(t *testing.T) {
	now := time.Now()
	s := newState(now)
	first := s.apply("u", lookOf(now, nil, "watch.a", "p-0", "watch.b", "p-0"), now)
	if len(first) != 2 || first[0].version >= first[1].version {
		t.Fatalf("%+v", first)
	}
	if again := s.apply("u", lookOf(now.Add(time.Second), nil, "watch.a", "p-0", "watch.b", "p-0"), now); len(again) != 0 {
		t.Errorf("nothing is different, but %+v", again)
	}
	if old := s.apply("u", lookOf(now, nil, "watch.a", "p-1"), now); len(old) != 0 {
		t.Errorf("an old look is news: %+v", old)
	}
	changes := s.apply("u", lookOf(now.Add(2*time.Second), nil, "watch.a", "p-1"), now)
	if len(changes) != 2 || changes[0].new == nil || changes[0].old.PrimaryAddress != "p-0" || changes[1].new != nil || changes[1].old.Name != "watch.b" {
		t.Errorf("%+v", changes)
	}
	// A set that came after the list was made is not gone.
	if gone := s.retain("ns", nil, now.Add(time.Second), now); len(gone) != 0 {
		t.Errorf("%+v", gone)
	}
	if gone := s.retain("other", nil, now.Add(time.Hour), now); len(gone) != 0 {
		t.Errorf("of another namespace: %+v", gone)
	}
	if gone := s.retain("", nil, now.Add(time.Hour), now); len(gone) != 1 || gone[0].new != nil {
		t.Errorf("%+v", gone)
	}
}

func TestVersions(t *testing.T) {
	now := time.Now()
	s, other := newState(now), newState(now.Add(time.Minute))
	other.feed ^= 1
	start := s.current
	for i := range 2*pastLimit + 5 {
		s.apply("u", lookOf(now, nil, "watch.a", fmt.Sprint(i)), now)
	}
	if len(s.past) >= 2*pastLimit {
		t.Errorf("%d changes are remembered", len(s.past))
	}
	if _, known := s.since(start); known {
		t.Error("what is forgotten can be told")
	}
	half := s.past[len(s.past)/2].version
	if missed, known := s.since(half); !known || missed[0].version <= half || missed[len(missed)-1].version != s.current {
		t.Errorf("since the middle: %v, %d", known, len(missed))
	}
	if missed, known := s.since(s.current); !known || len(missed) != 0 {
		t.Errorf("since now: %v, %d", known, len(missed))
	}
	foreign := newVersion(now, s.feed^1)
	if _, known := s.since(foreign); known {
		t.Error("what happened elsewhere can be told")
	}
	if _, known := s.since(s.current.after(now, s.feed)); known {
		t.Error("the future can be told")
	}
	far := newVersion(now.Add(time.Hour), s.feed^1)
	if s.reach(far); s.current <= far || s.current.feed() != s.feed {
		t.Errorf("%s is not newer than %s", s.current, far)
	}
	if version := newVersion(now, 1); int64(version) <= 0 || version.at().UnixMilli() != now.UnixMilli() {
		t.Errorf("version %s", version)
	}
	if _, err := parseVersion("x"); !apierrors.IsBadRequest(err) {
		t.Errorf("got %v", err)
	}
}

func TestSelectionsSeeComingAndGoing(t *testing.T) {
	f := New(newScripted(), clock.RealClock{})
	on := func(m *api.Monitor) bool { return m.PrimaryAddress == "p-1" }
	w, err := f.Watch(t.Context(), Selection{Namespace: "ns", Matches: on}, Start{})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Stop()
	elsewhere, err := f.Watch(t.Context(), everything("elsewhere"), Start{InitialEnd: true, Initial: true})
	if err != nil {
		t.Fatal(err)
	}
	defer elsewhere.Stop()
	for i, primary := range []string{"p-0", "p-1", "p-2"} {
		f.apply("another", lookOf(time.Now().Add(time.Duration(i)*time.Second), nil, "watch.x", primary))
	}
	if kind, monitor := receive(t, w); kind != watch.Added || monitor.PrimaryAddress != "p-1" {
		t.Errorf("%s %+v", kind, monitor)
	}
	if kind, monitor := receive(t, w); kind != watch.Deleted || monitor.PrimaryAddress != "p-1" {
		t.Errorf("%s %+v", kind, monitor)
	}
	if kind, monitor := receive(t, elsewhere); kind != watch.Bookmark || monitor.Annotations[metav1.InitialEventsAnnotationKey] != "true" {
		t.Errorf("%s %+v", kind, monitor)
	}
}

// Who could not tell two states apart hears of the first alone.
func TestWhatLooksTheSameIsToldOnce(t *testing.T) {
	f := New(silent{newScripted()}, clock.RealClock{})
	selection := everything("ns")
	selection.Same = func(before, after *api.Monitor) bool { return before.PrimaryAddress == after.PrimaryAddress }
	w, err := f.Watch(t.Context(), selection, Start{})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Stop()
	for i, state := range []struct {
		primary string
		quorum  int32
	}{{"p-0", 1}, {"p-0", 2}, {"p-0", 3}, {"p-1", 3}, {"p-1", 4}, {"p-0", 4}} {
		look := lookOf(time.Now().Add(time.Duration(i)*time.Second), nil, "watch.x", state.primary)
		look.List.Items[0].Quorum = state.quorum
		f.apply("set", look)
	}
	for i, want := range []struct {
		kind    watch.EventType
		primary string
	}{{watch.Added, "p-0"}, {watch.Modified, "p-1"}, {watch.Modified, "p-0"}} {
		if kind, monitor := receive(t, w); kind != want.kind || monitor.PrimaryAddress != want.primary {
			t.Errorf("%d: %s %+v", i, kind, monitor)
		}
	}
}
