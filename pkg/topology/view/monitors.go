// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package view

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/valkeykube/valkeykube/pkg/apis/valkey/v1alpha1"
	"github.com/valkeykube/valkeykube/pkg/topology"
)

// Monitors is the live answer about the Sentinels of a set: every monitor that at least one of them holds, or should hold, sorted by name,
// as each of them sees it. valkeys are the Valkeys that the set monitors, by the name of their monitor.
func Monitors(snapshot topology.Snapshot, set *v1alpha1.ValkeySentinel, valkeys map[string]string) *v1alpha1.MonitorList {
	answer := &v1alpha1.MonitorList{
		ObservedAt: metav1.NewMicroTime(snapshot.Now),
		Sentinels:  make([]v1alpha1.SentinelAnswer, 0, len(snapshot.Sentinels)),
		Items:      []v1alpha1.Monitor{},
	}
	names := map[string]bool{}
	for name := range valkeys {
		names[name] = true
	}
	for _, s := range snapshot.Sentinels {
		sentinel := v1alpha1.SentinelAnswer{Pod: s.Name, ID: s.MyID}
		if !s.Reach.OK() {
			sentinel.Error = reachError(s.Reach)
		}
		answer.Sentinels = append(answer.Sentinels, sentinel)
		for name := range s.Monitors {
			names[name] = true
		}
	}
	for _, name := range slices.Sorted(maps.Keys(names)) {
		monitor := Monitor(snapshot, set, name)
		monitor.Valkey = valkeys[name]
		answer.Items = append(answer.Items, monitor)
	}
	return answer
}

// Monitor is one monitor as all Sentinels of the snapshot, which are the set's, see it.
func Monitor(snapshot topology.Snapshot, set *v1alpha1.ValkeySentinel, name string) v1alpha1.Monitor {
	monitor := v1alpha1.Monitor{
		ObjectMeta: metav1.ObjectMeta{Name: set.Name + "." + name, Namespace: set.Namespace},
		Sentinel:   set.Name, MonitorName: name, Views: MonitorViews(snapshot, name),
	}
	primaries, quorums := map[string]int{}, map[int]int{}
	for _, s := range snapshot.Sentinels {
		view, held := s.Monitors[name]
		if !s.Reach.OK() || !held {
			continue
		}
		primaries[view.Primary.String()]++
		quorums[view.Quorum]++
		monitor.OK = monitor.OK || view.QuorumOK
	}
	monitor.PrimaryAddress = mostNamed(primaries)
	monitor.Quorum = int32(mostNamed(quorums)) //nolint:gosec // a quorum is a count of Sentinels
	monitor.Agreed = len(primaries) == 1
	return monitor
}

// MonitorViews is what each Sentinel of the snapshot says about one monitor, in the snapshot's order. A Sentinel that did not answer, or
// does not hold the monitor, is there with Registered false.
func MonitorViews(snapshot topology.Snapshot, name string) []v1alpha1.MonitorView {
	views := make([]v1alpha1.MonitorView, 0, len(snapshot.Sentinels))
	for _, s := range snapshot.Sentinels {
		answer := v1alpha1.MonitorView{Pod: s.Name}
		if !s.Reach.OK() {
			answer.Error = string(s.Reach.Class)
		}
		if view, held := s.Monitors[name]; s.Reach.OK() && held {
			answer.Registered = true
			answer.PrimaryAddress = view.Primary.String()
			answer.Flags = strings.Join(view.Flags, ",")
			answer.Quorum = int32(view.Quorum) //nolint:gosec // a count of Sentinels
			answer.QuorumMessage = view.QuorumMessage
			answer.Replicas = int32(view.NumReplicas)             //nolint:gosec // a count
			answer.OtherSentinels = int32(view.NumOtherSentinels) //nolint:gosec // a count
			answer.ConfigEpoch = view.ConfigEpoch
			answer.FailoverState = view.FailoverState
		}
		views = append(views, answer)
	}
	return views
}

// mostNamed is the value with the highest count, the smallest of them where several have it, and the zero value where there is none.
func mostNamed[T cmp.Ordered](counts map[T]int) T {
	var best T
	for _, value := range slices.Sorted(maps.Keys(counts)) {
		if counts[value] > counts[best] {
			best = value
		}
	}
	return best
}
