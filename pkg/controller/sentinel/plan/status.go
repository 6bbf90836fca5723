// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"cmp"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/valkeykube/valkeykube/pkg/apis/valkey/v1alpha1"
	"github.com/valkeykube/valkeykube/pkg/naming"
	"github.com/valkeykube/valkeykube/pkg/topology"
)

// Outcome is how an action ended.
type Outcome struct {
	Action Action
	// Err is why it failed; nil for success.
	Err error
	// Refused are the words of a Sentinel that does not want what it was sent, and will not want it later either; empty otherwise.
	Refused string
	// Skipped: it was not tried, because something before it failed or what it relied on had changed.
	Skipped bool
}

// Status is what status says after a pass. Nothing in it moves while nothing happens.
func Status(observed Observed, done Plan, outcomes []Outcome, memory Memory) v1alpha1.ValkeySentinelStatus {
	if done.halted {
		return *observed.Set.Status.DeepCopy()
	}
	s := &summary{Observed: observed, plan: done, outcomes: outcomes, memory: memory}
	status := v1alpha1.ValkeySentinelStatus{
		Replicas:           int32(len(observed.Objects.Pods)), //nolint:gosec // a handful
		ReadyReplicas:      int32(s.readyPods()),              //nolint:gosec // a handful
		Selector:           labels.SelectorFromSet(naming.SentinelSelector(observed.Set.Name)).String(),
		ObservedGeneration: observed.Set.Generation,
	}
	for i := range done.monitors {
		status.Monitors = append(status.Monitors, s.monitorStatus(&done.monitors[i]))
	}
	s.monitors = status.Monitors
	for _, kept := range observed.Set.Status.Conditions {
		status.Conditions = append(status.Conditions, *kept.DeepCopy())
	}
	quorum, degraded, progressing := s.quorumHealthy(), s.degraded(), s.progressing()
	ready := s.ready(quorum)
	told := []metav1.Condition{ready, progressing, degraded, s.configurationWarning(), quorum, s.monitorConflict()}
	if done.encrypted.Status != "" {
		done.encrypted.Type = v1alpha1.ConditionEncrypted
		told = append(told, done.encrypted)
	} else {
		meta.RemoveStatusCondition(&status.Conditions, v1alpha1.ConditionEncrypted)
	}
	for _, condition := range told {
		condition.ObservedGeneration = observed.Set.Generation
		condition.LastTransitionTime = metav1.NewTime(observed.Now)
		condition.Message = truncated(condition.Message)
		meta.SetStatusCondition(&status.Conditions, condition)
	}
	status.State, status.Reason, status.Message = s.state(ready, progressing, degraded)
	return status
}

// summary gathers what the conditions are computed from.
type summary struct {
	Observed
	plan     Plan
	outcomes []Outcome
	memory   Memory
	monitors []v1alpha1.MonitorStatus
}

// state is everything in one word, with the reason of the condition that speaks loudest.
func (s *summary) state(ready, progressing, degraded metav1.Condition) (v1alpha1.State, string, string) {
	say := func(state v1alpha1.State, condition metav1.Condition) (v1alpha1.State, string, string) {
		return state, condition.Reason, truncated(condition.Message)
	}
	before := s.Set.Status.State
	starting := (before == "" || before == v1alpha1.StateInitializing) && ready.Status != metav1.ConditionTrue
	switch {
	case degraded.Status == metav1.ConditionTrue && (degraded.Reason == v1alpha1.ReasonForeignObject || degraded.Reason == v1alpha1.ReasonApplyFailed) && starting:
		return say(v1alpha1.StateFailed, degraded)
	case starting:
		return say(v1alpha1.StateInitializing, ready)
	case s.answering() == 0:
		return say(v1alpha1.StateFailed, ready)
	case degraded.Status == metav1.ConditionTrue:
		return say(v1alpha1.StateDegraded, degraded)
	case ready.Status != metav1.ConditionTrue:
		return say(v1alpha1.StateDegraded, ready)
	case progressing.Status == metav1.ConditionTrue:
		return say(v1alpha1.StateReconciling, progressing)
	default:
		return say(v1alpha1.StateReady, ready)
	}
}

// count is how many of the Sentinels that are to be there are so.
func (s *summary) count(isSo func(Sentinel) bool) int {
	count := 0
	for i := range min(s.plan.size, len(s.Sentinels)) {
		if isSo(s.Sentinels[i]) {
			count++
		}
	}
	return count
}

// answering is how many answer.
func (s *summary) answering() int {
	return s.count(func(sentinel Sentinel) bool { return sentinel.View.Reach.OK() })
}

// tilted is how many answer and distrust their clock: they vote, and hold no primary for down.
func (s *summary) tilted() int {
	return s.count(func(sentinel Sentinel) bool { return sentinel.View.Reach.OK() && sentinel.Tilt })
}

// refusing is how many answer and do not let the controller in.
func (s *summary) refusing() int {
	return s.count(func(sentinel Sentinel) bool { return sentinel.View.Reach.Class == topology.ReachAuth })
}

func (s *summary) readyPods() int {
	ready := 0
	for _, pod := range s.Objects.Pods {
		if isPodReady(pod) {
			ready++
		}
	}
	return ready
}

// monitorStatus is one monitor as most Sentinels see it.
func (s *summary) monitorStatus(m *monitor) v1alpha1.MonitorStatus {
	status := v1alpha1.MonitorStatus{Name: m.name, Valkey: m.valkey.Object.Name, Quorum: int32(m.quorum)} //nolint:gosec // validated
	addresses, replicas, sentinels := map[string]int{}, map[int32]int{}, map[int32]int{}
	able := 0
	for _, at := range s.views(m.name) {
		if at.index >= s.plan.size {
			continue
		}
		addresses[at.view.Primary.String()]++
		replicas[int32(at.view.NumReplicas)]++          //nolint:gosec // a handful
		sentinels[int32(at.view.NumOtherSentinels+1)]++ //nolint:gosec // a handful
		if at.view.QuorumOK {
			able++
		}
	}
	if len(addresses) == 0 {
		status.OKMessage = m.why
		return status
	}
	status.PrimaryAddress, status.Replicas, status.Sentinels = most(addresses), most(replicas), most(sentinels)
	status.RegisteredOn = int32(addresses[status.PrimaryAddress]) //nolint:gosec // a handful
	status.OK = able >= majority(s.plan.size)
	for _, at := range s.views(m.name) {
		if at.view.Primary.String() == status.PrimaryAddress && status.Flags == "" {
			status.Flags = strings.Join(at.view.Flags, ",")
		}
		if at.view.QuorumOK == status.OK && status.OKMessage == "" {
			status.OKMessage = truncated(at.view.QuorumMessage)
		}
	}
	return status
}

// most is the value that was counted most often; of several the smallest.
func most[T cmp.Ordered](counts map[T]int) T {
	var best T
	found := 0
	for value, count := range counts {
		if count > found || count == found && value < best {
			best, found = value, count
		}
	}
	return best
}

// mostText is how long a message may become, in bytes; the API allows 32 KiB.
const mostText = 1000

func truncated(text string) string {
	if len(text) <= mostText {
		return text
	}
	return strings.ToValidUTF8(text[:mostText], "") + "…"
}
