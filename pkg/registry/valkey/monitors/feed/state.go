// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package feed

import (
	"slices"
	"strings"
	"time"

	apiequality "k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/types"

	api "github.com/valkeykube/valkeykube/pkg/apis/valkey"
	"github.com/valkeykube/valkeykube/pkg/naming"
)

// change is one monitor that came (old is nil), changed, or went (new is nil). What it points to is never changed again.
type change struct {
	version  version
	old, new *api.Monitor
}

func (c change) namespace() string {
	if c.new != nil {
		return c.new.Namespace
	}
	return c.old.Namespace
}

// known is what is known of the monitors of one ValkeySentinel.
type known struct {
	namespace string
	// lookedAt is when the look began that this comes from.
	lookedAt time.Time
	monitors map[string]*api.Monitor
}

// state is everything that is known, and how it came to be. It is not safe for concurrent use.
type state struct {
	feed    uint64
	current version
	// forgotten is the version of the last change that is no longer in the past.
	forgotten version
	past      []change
	sets      map[types.UID]*known
}

// pastLimit is how many changes are remembered at least, once there are as many.
const pastLimit = 4096

func newState(now time.Time) *state {
	number := newFeedNumber()
	start := newVersion(now, number)
	return &state{feed: number, current: start, forgotten: start, sets: map[types.UID]*known{}}
}

// apply takes over what a look has seen, and returns what is different. A look that began before the last one is not news.
func (s *state) apply(set types.UID, look Look, now time.Time) []change {
	before := s.sets[set]
	if before == nil {
		before = &known{}
	}
	if look.At.Before(before.lookedAt) {
		return nil
	}
	seen := map[string]*api.Monitor{}
	for i := range look.List.Items {
		seen[look.List.Items[i].Name] = &look.List.Items[i]
	}
	if look.Unanswered != nil {
		// That nobody answers does not mean that nothing is there.
		for name, monitor := range before.monitors {
			if seen[name] == nil {
				seen[name] = unknown(monitor, look.List.Sentinels)
			}
		}
	}
	after := &known{namespace: look.Namespace, lookedAt: look.At, monitors: map[string]*api.Monitor{}}
	var changes []change
	for name, monitor := range seen {
		old := before.monitors[name]
		if old != nil {
			monitor.ResourceVersion = old.ResourceVersion
			if apiequality.Semantic.DeepEqual(old, monitor) {
				after.monitors[name] = old
				continue
			}
		}
		after.monitors[name] = monitor
		changes = append(changes, s.record(old, monitor, now))
	}
	for name, old := range before.monitors {
		if seen[name] == nil {
			changes = append(changes, s.record(old, nil, now))
		}
	}
	s.sets[set] = after
	return changes
}

// retain forgets the sets of a namespace (empty: of all) that are not among those that were there when the list was made, and returns
// what is different.
func (s *state) retain(namespace string, present map[types.UID]bool, listedAt, now time.Time) []change {
	var changes []change
	for uid, set := range s.sets {
		if present[uid] || namespace != "" && set.namespace != namespace || !set.lookedAt.Before(listedAt) {
			continue
		}
		for _, old := range set.monitors {
			changes = append(changes, s.record(old, nil, now))
		}
		delete(s.sets, uid)
	}
	return changes
}

func (s *state) record(old, monitor *api.Monitor, now time.Time) change {
	s.current = s.current.after(now, s.feed)
	if monitor != nil {
		monitor.ResourceVersion = s.current.String()
	}
	made := change{version: s.current, old: old, new: monitor}
	s.past = append(s.past, made)
	if len(s.past) >= 2*pastLimit {
		s.forgotten = s.past[pastLimit-1].version
		s.past = slices.Clone(s.past[pastLimit:])
	}
	return made
}

// since is what happened after a version; false if that cannot be told.
func (s *state) since(v version) ([]change, bool) {
	if v.feed() != s.feed || v < s.forgotten || v > s.current {
		return nil, false
	}
	first := len(s.past)
	for first > 0 && s.past[first-1].version > v {
		first--
	}
	return s.past[first:], true
}

// reach makes the current version newer than one of another feed. Nothing is different.
func (s *state) reach(v version) {
	if v > s.current {
		s.current = v.after(time.Time{}, s.feed)
	}
}

// monitors are all of a namespace (empty: of all).
func (s *state) monitors(namespace string) []*api.Monitor {
	var found []*api.Monitor
	for _, set := range s.sets {
		if namespace != "" && set.namespace != namespace {
			continue
		}
		for _, monitor := range set.monitors {
			found = append(found, monitor)
		}
	}
	return found
}

// unknown is a monitor of which nothing is known any more but that it was there.
func unknown(was *api.Monitor, sentinels []api.SentinelAnswer) *api.Monitor {
	monitor := &api.Monitor{Sentinel: was.Sentinel, MonitorName: was.MonitorName}
	monitor.Name, monitor.Namespace = was.Name, was.Namespace
	monitor.Labels = map[string]string{naming.LabelSentinel: was.Sentinel}
	for _, sentinel := range sentinels {
		class, _, _ := strings.Cut(sentinel.Error, ":")
		monitor.Views = append(monitor.Views, api.MonitorView{Pod: sentinel.Pod, Error: class})
	}
	return monitor
}
