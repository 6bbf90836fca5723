// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"

	"github.com/valkeykube/valkeykube/pkg/apis/valkey/v1alpha1"
	"github.com/valkeykube/valkeykube/pkg/naming"
	"github.com/valkeykube/valkeykube/pkg/topology"
)

// stepRoll replaces the pods that were made from an older spec, before the passwords were lost and drawn anew, or that cannot take a changed
// certificate otherwise, one at a time, from the highest index down, and each only when all other
// Sentinels answer, hold every monitor with a quorum, see its primary, and are in no failover. A pod whose Sentinel does nothing (it never
// became ready, or we cannot log in) is replaced without asking the others: it has nothing to lose. A new agent image alone makes no pod
// outdated. It is disruptive.
func stepRoll(d *draft) {
	live := d.Objects.Workload
	if live == nil || !isOwned(d, live) || d.plan.revision == "" {
		return
	}
	var next *ReplacePod
	for i := d.plan.size - 1; i >= 0; i-- {
		pod := d.Objects.Pods[naming.SentinelPod(d.Set.Name, i)]
		if pod == nil || !d.isOutdated(i, pod) {
			continue
		}
		d.plan.rolling++
		candidate := &ReplacePod{Sentinel: i, Name: pod.Name, UID: pod.UID, Broken: d.isBroken(i, pod)}
		if next == nil || candidate.Broken && !next.Broken {
			next = candidate
		}
	}
	if next == nil {
		return
	}
	d.waiting = true
	switch why := d.whyNotReplace(next); {
	case live.Status.ObservedGeneration < live.Generation:
		// Its controller would make the pod again as it was.
		d.block(v1alpha1.ReasonRolling, "%d of %d Sentinel pods are outdated; the StatefulSet is not up to date yet", d.plan.rolling, d.plan.size)
	case why != "":
		d.block(v1alpha1.ReasonHeldUnhealthy, "%d of %d Sentinel pods are outdated; %s is replaced when %s", d.plan.rolling, d.plan.size, next.Name, why)
	case d.disruptive || d.isRegistering():
		d.block(v1alpha1.ReasonRolling, "%d of %d Sentinel pods are outdated; something else goes first", d.plan.rolling, d.plan.size)
	default:
		d.do(*next)
	}
}

// isOutdated tells whether the pod has to be replaced.
func (d *draft) isOutdated(index int, pod *corev1.Pod) bool {
	return pod.Annotations[naming.AnnotationRevision] != d.plan.revision || d.isLockedOut(index, pod) || d.servesAnother(index)
}

func (d *draft) whyNotReplace(next *ReplacePod) string {
	for name, pod := range d.Objects.Pods {
		if pod.DeletionTimestamp != nil {
			return fmt.Sprintf("%s is gone", name)
		}
	}
	if !next.Broken && d.isMoving() {
		return d.whyNotMove(next.Sentinel)
	}
	if !next.Broken {
		return d.whyNotLose(next.Sentinel)
	}
	// One that only does not let us in votes all the same.
	votes := d.reachOf(next.Sentinel).Class == topology.ReachAuth
	for i := range d.plan.size {
		name := naming.SentinelPod(d.Set.Name, i)
		pod := d.Objects.Pods[name]
		if i != next.Sentinel && (pod == nil || votes && !isPodReady(pod)) {
			return fmt.Sprintf("%s is there", name)
		}
	}
	return ""
}

// reachOf is how the look at a Sentinel ended.
func (d *draft) reachOf(index int) topology.Reach {
	if index >= len(d.Sentinels) {
		return topology.Reach{}
	}
	return d.Sentinels[index].View.Reach
}

// isLockedOut tells whether the pod is older than the passwords, and its Sentinel knows only those before: their Secret was lost. A Sentinel
// reads its users when it starts.
func (d *draft) isLockedOut(index int, pod *corev1.Pod) bool {
	passwords := d.Objects.Passwords
	return d.reachOf(index).Class == topology.ReachAuth && passwords != nil && pod.CreationTimestamp.Before(&passwords.CreationTimestamp)
}

// isBroken tells whether the Sentinel of a pod is of no use: it does not run, or we are not let in because it has other passwords than ours.
func (d *draft) isBroken(index int, pod *corev1.Pod) bool {
	reach := d.reachOf(index)
	return reach.Class == topology.ReachAuth || !reach.OK() && !isPodReady(pod)
}

// isRegistering tells whether this plan changes what the Sentinels hold; then none of them is taken away in the same pass.
func (d *draft) isRegistering() bool {
	for _, action := range d.plan.Actions {
		if action.Tier() == TierOnline {
			return true
		}
	}
	return false
}

// whyNotLose says what is missing before the Sentinel with that index may go; empty when the others can do without it.
func (d *draft) whyNotLose(leaving int) string {
	for i := range d.plan.size {
		if i == leaving {
			continue
		}
		pod := naming.SentinelPod(d.Set.Name, i)
		switch {
		case !d.reachOf(i).OK():
			return fmt.Sprintf("Sentinel %d answers", i)
		case d.Sentinels[i].Tilt:
			return fmt.Sprintf("Sentinel %d trusts its clock again (TILT)", i)
		case !isPodReady(d.Objects.Pods[pod]):
			return fmt.Sprintf("%s is ready", pod)
		}
		if why := d.whyNotRely(i, leaving); why != "" {
			return why
		}
	}
	return ""
}

// whyNotRely says which monitor one of the Sentinels that stay could not act on. A failover of a monitor that is about to be removed, or
// that is not ours, counts too.
func (d *draft) whyNotRely(index, leaving int) string {
	for _, name := range d.heldNames() {
		if d.Sentinels[index].View.Monitors[name].FailoverInProgress {
			return fmt.Sprintf("the failover of %s is over", name)
		}
	}
	peers := d.plan.size - 1
	if !d.reachOf(leaving).OK() {
		peers-- // One that never came up was never counted.
	}
	for i := range d.plan.monitors {
		m := &d.plan.monitors[i]
		view, ok := d.Sentinels[index].View.Monitors[m.name]
		if !ok && m.primary.IsZero() && len(d.views(m.name)) == 0 {
			continue // Not registered anywhere, and not to be: see stepRegister.
		}
		switch {
		case m.hold != "":
			return "monitor " + m.name + " is free: " + m.hold
		case !ok:
			return fmt.Sprintf("Sentinel %d monitors %s", index, m.name)
		case !isQuiet(view):
			return fmt.Sprintf("Sentinel %d sees the primary of %s", index, m.name)
		case !view.QuorumOK:
			return fmt.Sprintf("Sentinel %d has a quorum for %s (%s)", index, m.name, view.QuorumMessage)
		case view.NumOtherSentinels < peers:
			return fmt.Sprintf("Sentinel %d knows its peers for %s", index, m.name)
		case view.NumReplicas == 0 && len(m.valkey.Nodes) > 1:
			return fmt.Sprintf("Sentinel %d knows a replica of %s", index, m.name)
		}
	}
	return ""
}
