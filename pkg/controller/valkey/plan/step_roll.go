// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"fmt"
	"slices"
	"time"

	"github.com/valkeykube/valkeykube/pkg/apis/valkey/v1alpha1"
	"github.com/valkeykube/valkeykube/pkg/desired"
	"github.com/valkeykube/valkeykube/pkg/topology/view"
)

// stepRoll lets nodes replace their pods: those without a running server or without a complete copy first, since they have nothing to lose,
// then the replicas from the highest index, each only when all others are ready and in sync, then, after a hand-over, the node that was
// primary. A primary alone is replaced only where its data outlive the pod, or a person agrees. Takes a pod away.
func stepRoll(p *pass) decision {
	p.followRoll()
	var pending []Node
	for _, n := range p.wanted() {
		if n.Object.DeletionTimestamp == nil && n.Object.Status.PendingRevision != "" {
			pending = append(pending, n)
		}
	}
	if len(pending) == 0 {
		return p.syncTimeout()
	}
	for _, n := range pending {
		if isAuthorised(n) {
			return blocked(v1alpha1.ReasonRolling, n.Object.Name+" replaces its pod")
		}
	}
	if rolling := p.plan.Memory.Rolling; rolling != "" {
		if timeout := p.syncTimeout(); len(timeout.blocked) > 0 && !isPending(pending, rolling) {
			return timeout
		} else if !isPending(pending, rolling) {
			return blocked(v1alpha1.ReasonRolling, rolling+" was replaced and is not in sync yet")
		}
		// It waits for another change, which may be what puts it right.
		pending = slices.DeleteFunc(pending, func(n Node) bool { return n.Object.Name != rolling })
	}
	if n, found := p.nothingToLose(pending); found {
		return p.replace(n)
	}
	if p.verdict.InFlight || !p.verdict.Confirmed {
		return blocked(v1alpha1.ReasonHeldUnhealthy, "pods are not replaced while the primary is not certain: "+p.verdict.Message)
	}
	for i := len(pending) - 1; i >= 0; i-- {
		if n := pending[i]; n.Object.Name != p.verdict.Node {
			return p.whenOthersAreWell(n, func() decision { return p.replace(n) })
		}
	}
	primary := pending[0]
	if primary.Object.Name != p.verdict.Node {
		return decision{}
	}
	return p.whenOthersAreWell(primary, func() decision { return p.rollPrimary(primary) })
}

func isPending(pending []Node, name string) bool {
	return slices.ContainsFunc(pending, func(n Node) bool { return n.Object.Name == name })
}

// nothingToLose is a node that may be replaced whatever the others do: no server runs in its pod, or, with a primary that is certain, it
// holds no complete copy. The others may be broken by the very thing that the change puts right.
func (p *pass) nothingToLose(pending []Node) (Node, bool) {
	leader, _ := p.o.Snapshot.Member(p.verdict.Node)
	for i := len(pending) - 1; i >= 0; i-- {
		n := pending[i]
		m := p.member(n)
		unsynced := p.verdict.Confirmed && !p.verdict.InFlight && n.Object.Name != p.verdict.Node && m.Reach.OK() && !view.Synced(m, leader)
		if isIdle(n.Pod) || unsynced {
			return n, true
		}
	}
	return Node{}, false
}

// whenOthersAreWell does what is to be done if every other node is ready and in sync.
func (p *pass) whenOthersAreWell(subject Node, then func() decision) decision {
	leader, _ := p.o.Snapshot.Member(p.verdict.Node)
	if missing := wantedNodes(p.o.Valkey) - len(p.wanted()); missing > 0 {
		return blocked(v1alpha1.ReasonHeldUnhealthy, fmt.Sprintf("%s waits until every node exists", subject.Object.Name))
	}
	for _, n := range p.wanted() {
		if n.Object.Name == subject.Object.Name {
			continue
		}
		if m := p.member(n); !isUp(n) || !view.Synced(m, leader) {
			if timeout := p.syncTimeout(); len(timeout.blocked) > 0 {
				return timeout
			}
			return blocked(v1alpha1.ReasonHeldUnhealthy, fmt.Sprintf("%s waits until %s is ready and in sync", subject.Object.Name, n.Object.Name))
		}
	}
	if len(p.o.Leaving) > 0 {
		return blocked(v1alpha1.ReasonScaling, "waits until "+p.o.Leaving[0].Name+" is gone")
	}
	return then()
}

// rollPrimary hands over before the pod of the primary is replaced.
func (p *pass) rollPrimary(n Node) decision {
	revision := n.Object.Status.PendingRevision
	approved := p.o.Valkey.Annotations[v1alpha1.AnnotationApprovePrimaryRoll] == revision
	if wantedNodes(p.o.Valkey) > 1 {
		if p.o.Valkey.Annotations[v1alpha1.AnnotationPrimaryRoll] == v1alpha1.PrimaryRollManual && !approved {
			return blocked(v1alpha1.ReasonAwaitingApproval, fmt.Sprintf("%s is primary and waits for the annotation %s=%s",
				n.Object.Name, v1alpha1.AnnotationApprovePrimaryRoll, revision))
		}
		return p.handOver(v1alpha1.FailoverCauseRoll, n.Object.Name+" is to be replaced", true)
	}
	m := p.member(n)
	if p.o.Valkey.Spec.Persistence == nil && m.Keys > 0 && !approved {
		return blocked(v1alpha1.ReasonHeldNobodyToTakeOver, fmt.Sprintf(
			"%s holds the only copy of its data, in memory; add a replica, or give the data up with the annotation %s=%s",
			n.Object.Name, v1alpha1.AnnotationApprovePrimaryRoll, revision))
	}
	return p.replace(n)
}

func (p *pass) replace(n Node) decision {
	revision := n.Object.Status.PendingRevision
	p.plan.Memory.Rolling, p.plan.Memory.RollingSince = n.Object.Name, p.o.Now
	spec := desired.ValkeyNodeSpec(p.o.Valkey, revision)
	config := desired.ValkeyNode(p.o.Valkey, n.Object.Name, spec).WithUID(n.Object.UID)
	return do(Replace{Node: n.Object.Name, Revision: revision, Config: config})
}

// followRoll remembers the node that was replaced last, and since when, until it is in sync again. After a restart of the controller it is
// found again: the one that has done what it was authorised to and is not well.
func (p *pass) followRoll() {
	memory := &p.plan.Memory
	leader, _ := p.o.Snapshot.Member(p.verdict.Node)
	there := false
	for _, n := range p.wanted() {
		well := isSettled(n) && view.Synced(p.member(n), leader)
		replaced := n.Object.Spec.WorkloadRevision != "" && n.Object.Status.WorkloadRevision == n.Object.Spec.WorkloadRevision
		switch {
		case memory.Rolling == "" && (isAuthorised(n) || replaced && n.Object.Status.PendingRevision == "" && !isUp(n)):
			memory.Rolling, memory.RollingSince = n.Object.Name, p.o.Now
		case memory.Rolling == n.Object.Name && well:
			memory.Rolling, memory.RollingSince = "", time.Time{}
		}
		there = there || memory.Rolling == n.Object.Name
	}
	if !there {
		memory.Rolling, memory.RollingSince = "", time.Time{}
	}
}

// syncTimeout says that the node that was replaced last takes too long.
func (p *pass) syncTimeout() decision {
	timeout := v1alpha1.DefaultSyncTimeout
	if configured := p.o.Valkey.Spec.RollingUpdate.SyncTimeout; configured != nil {
		timeout = configured.Duration
	}
	memory := p.plan.Memory
	if memory.Rolling == "" || p.o.Now.Sub(memory.RollingSince) < timeout {
		return decision{}
	}
	return blocked(v1alpha1.ReasonSyncTimeout, fmt.Sprintf("%s was replaced and is not in sync after %s; the roll is paused", memory.Rolling, timeout))
}

// isWhole tells whether every node that is wanted is there, as its spec asks, ready and in sync, and no other.
func (p *pass) isWhole() bool {
	leader, _ := p.o.Snapshot.Member(p.verdict.Node)
	if len(p.wanted()) < wantedNodes(p.o.Valkey) || len(p.surplus()) > 0 || len(p.o.Leaving) > 0 || len(p.verdict.Rivals) > 0 {
		return false
	}
	for _, n := range p.wanted() {
		if !isSettled(n) || !view.Synced(p.member(n), leader) {
			return false
		}
	}
	return true
}
