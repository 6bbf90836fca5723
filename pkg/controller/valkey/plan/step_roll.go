// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"fmt"
	"slices"
	"time"

	"github.com/valkeykube/valkeykube/pkg/apis/valkey/v1alpha1"
	"github.com/valkeykube/valkeykube/pkg/desired"
	"github.com/valkeykube/valkeykube/pkg/naming"
	"github.com/valkeykube/valkeykube/pkg/topology/view"
)

// stepRoll lets nodes replace their pods: first those without a running server, which have nothing to lose, then those without a complete
// copy, then the replicas from the highest index, each only when the last is back and all others are ready and in sync, then, after a
// hand-over, the node that was primary. A primary alone is replaced only where its data outlive the pod, or a person agrees. Takes a pod away.
func stepRoll(p *pass) decision {
	pending := p.pending()
	switch {
	case len(pending) == 0:
		return p.syncTimeout()
	case p.isSwitching():
		return blocked(v1alpha1.ReasonSwitchingTLS, "pods are replaced when servers and Sentinels speak the same")
	case len(p.o.Leaving) > 0:
		return blocked(v1alpha1.ReasonScaling, "waits until "+p.o.Leaving[0].Name+" is gone")
	}
	if n, found := p.firstIdle(pending); found {
		return p.replace(n)
	}
	for _, n := range pending {
		if isAuthorised(n) {
			return blocked(v1alpha1.ReasonRolling, n.Object.Name+" replaces its pod")
		}
	}
	if rolling := p.plan.Memory.Rolling; p.isRolling() {
		if !isAmong(pending, rolling) {
			return blocked(v1alpha1.ReasonRolling, rolling+" was replaced and is not in sync yet")
		}
		// It waits for another change, which may be what puts it right.
		pending = slices.DeleteFunc(pending, func(n Node) bool { return n.Object.Name != rolling })
	}
	if n, found := p.incomplete(pending); found {
		return p.replace(n)
	}
	if timeout := p.syncTimeout(); len(timeout.blocked) > 0 {
		return timeout
	}
	switch {
	case p.verdict.InFlight:
		return blocked(v1alpha1.ReasonFailoverInProgress, "pods are not replaced while a failover is in flight")
	case !p.verdict.Confirmed:
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

// pending are the wanted nodes that ask for another pod.
func (p *pass) pending() []Node {
	var pending []Node
	for _, n := range p.wanted() {
		if n.Object.DeletionTimestamp == nil && n.Object.Status.PendingRevision != "" {
			pending = append(pending, n)
		}
	}
	return pending
}

func isAmong(nodes []Node, name string) bool {
	return slices.ContainsFunc(nodes, func(n Node) bool { return n.Object.Name == name })
}

// firstIdle is the first node in whose pod no server runs. It has nothing to lose, and may be what the others wait for: they may be broken
// by the very thing that the change puts right.
func (p *pass) firstIdle(pending []Node) (Node, bool) {
	for _, n := range pending {
		if isIdle(n.Pod) && !p.member(n).Answered() && !isAuthorised(n) {
			return n, true
		}
	}
	return Node{}, false
}

// whenOthersAreWell does what is to be done if the node is in sync and every other one is ready and in sync.
func (p *pass) whenOthersAreWell(subject Node, then func() decision) decision {
	if missing := wantedNodes(p.o.Valkey) - len(p.wanted()); missing > 0 {
		return blocked(v1alpha1.ReasonHeldUnhealthy, fmt.Sprintf("%s waits until every node exists", subject.Object.Name))
	}
	for _, n := range p.wanted() {
		if n.Object.Name == subject.Object.Name {
			if !p.isSynced(n) {
				return blocked(v1alpha1.ReasonHeldUnhealthy, n.Object.Name+" does not follow the primary, and may hold what no other node does")
			}
			continue
		}
		if n.Object.Status.ObservedGeneration != n.Object.Generation {
			return blocked(v1alpha1.ReasonRolling, fmt.Sprintf("%s waits until it is known what %s needs", subject.Object.Name, n.Object.Name))
		}
		if !isUp(n) || !p.isSynced(n) {
			return blocked(v1alpha1.ReasonHeldUnhealthy, fmt.Sprintf("%s waits until %s is ready and in sync", subject.Object.Name, n.Object.Name))
		}
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
	// A Deployment is a cache by declaration: a new pod begins empty, and that is all right.
	isCache := p.o.Valkey.Spec.WorkloadType == v1alpha1.WorkloadTypeDeployment
	if m := p.member(n); p.o.Valkey.Spec.Persistence == nil && !isCache && m.HasData() && !approved {
		return blocked(v1alpha1.ReasonHeldNobodyToTakeOver, fmt.Sprintf(
			"%s holds the only copy of its data, in memory; add a replica, or give the data up with the annotation %s=%s",
			n.Object.Name, v1alpha1.AnnotationApprovePrimaryRoll, revision))
	}
	return p.replace(n)
}

func (p *pass) replace(n Node) decision {
	revision := n.Object.Status.PendingRevision
	// A node without a server is replaced beside one that is not back yet; that one goes on being waited for.
	if memory := &p.plan.Memory; !p.isRolling() || !isIdle(n.Pod) {
		memory.Rolling, memory.RollingRevision, memory.RollingSince = n.Object.Name, revision, p.o.Now
	}
	spec := desired.ValkeyNodeSpec(p.o.Valkey, revision)
	config := desired.ValkeyNode(p.o.Valkey, n.Object.Name, spec).WithUID(n.Object.UID)
	action := Replace{Node: n.Object.Name, Revision: revision, Config: config}
	if n.Pod != nil && isIdle(n.Pod) {
		action.IdlePod = n.Pod.Name
	}
	return do(action)
}

// followRoll remembers the node that was replaced last, and since when, until it is back. After a restart of the controller, in the middle of a
// roll, it is found again: the one that may do, or has done, what it was authorised to and is not in sync.
func (p *pass) followRoll() {
	memory := &p.plan.Memory
	if memory.Rolling == "" {
		underWay := len(p.pending()) > 0
		for _, n := range p.o.Nodes {
			if isAuthorised(n) || underWay && p.isOnItsWay(n) {
				memory.Rolling, memory.RollingRevision, memory.RollingSince = n.Object.Name, n.Object.Spec.WorkloadRevision, p.o.Now
				break
			}
		}
	}
	for _, n := range p.o.Nodes {
		if n.Object.Name == memory.Rolling && !p.isBack(n) {
			return
		}
	}
	memory.Rolling, memory.RollingRevision, memory.RollingSince = "", "", time.Time{}
}

// isOnItsWay tells whether the node has a pod as it was authorised to, which is not well.
func (p *pass) isOnItsWay(n Node) bool {
	spec, status := n.Object.Spec, n.Object.Status
	done := spec.WorkloadRevision != "" && status.WorkloadRevision == spec.WorkloadRevision
	return done && (!isUp(n) || !p.isSynced(n) && status.PendingRevision == "")
}

// isBack tells whether the node that was replaced last is ready and in sync with the pod that it shall have. A look may be older than the
// authorisation: then the node still asks for what it has been given.
func (p *pass) isBack(n Node) bool {
	status := n.Object.Status
	return isUp(n) && p.isSynced(n) && status.PendingRevision != p.plan.Memory.RollingRevision &&
		status.ObservedGeneration == n.Object.Generation && n.Pod.Annotations[naming.AnnotationRevision] == status.WorkloadRevision
}

func (p *pass) isSynced(n Node) bool {
	leader, _ := p.o.Snapshot.Member(p.verdict.Node)
	return view.Synced(p.member(n), leader)
}

// isRolling tells whether the node that was replaced last may still come back in time.
func (p *pass) isRolling() bool {
	return p.plan.Memory.Rolling != "" && len(p.syncTimeout().blocked) == 0
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
	if len(p.wanted()) < wantedNodes(p.o.Valkey) || len(p.surplus()) > 0 || len(p.o.Leaving) > 0 || len(p.verdict.Rivals) > 0 {
		return false
	}
	for _, n := range p.wanted() {
		if !isSettled(n) || !p.isSynced(n) {
			return false
		}
	}
	return true
}
