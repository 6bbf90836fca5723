// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"fmt"
	"slices"

	"github.com/valkeykube/valkeykube/pkg/apis/valkey/v1alpha1"
)

// stepScale removes the nodes beyond what is asked for, the highest first, one after the other, each only when the pod of the last is gone.
// The primary must be confirmed. One that is to go is handed over first, while all copies are still there. Takes a node away.
func stepScale(p *pass) decision {
	surplus := p.surplus()
	switch {
	case len(surplus) == 0:
		return decision{}
	case len(p.o.Leaving) > 0:
		return blocked(v1alpha1.ReasonScaling, "waits until "+p.o.Leaving[0].Name+" is gone")
	case !p.verdict.Confirmed:
		return blocked(v1alpha1.ReasonHeldUnhealthy, "no node is removed while the primary is not certain: "+p.verdict.Message)
	case p.verdict.InFlight:
		return blocked(v1alpha1.ReasonFailoverInProgress, "no node is removed while a failover is in flight")
	}
	last := surplus[len(surplus)-1]
	if rolling := p.plan.Memory.Rolling; p.isRolling() && !isAmong(surplus, rolling) {
		return blocked(v1alpha1.ReasonRolling, "no node is removed while "+rolling+" is being replaced")
	}
	for _, n := range surplus {
		if n.Object.Name == p.verdict.Node {
			return p.handOver(v1alpha1.FailoverCauseRoll, fmt.Sprintf("%s is to be removed", n.Object.Name), false)
		}
	}
	if last.Object.DeletionTimestamp != nil {
		return blocked(v1alpha1.ReasonScaling, "waits until "+last.Object.Name+" is gone")
	}
	// What it was promoted with, or took beside the primary, is thrown away when it is made to follow, not with its pod.
	if slices.Contains(p.verdict.Rivals, last.Object.Name) {
		return blocked(v1alpha1.ReasonHeldUnhealthy, last.Object.Name+" says that it is primary, and is removed when it follows "+p.verdict.Node)
	}
	// Nobody knows what a node holds that does not answer: an empty primary is no proof that it is nothing.
	if leader, _ := p.o.Snapshot.Member(p.verdict.Node); !leader.HasData() && !p.member(last).Reach.OK() {
		return blocked(v1alpha1.ReasonHeldUnhealthy, last.Object.Name+" does not answer, and may hold data that the primary, which is empty, lacks")
	}
	return do(RemoveNode{Node: last.Object.Name, UID: last.Object.UID})
}

// handOver hands the primary over to the best replica, or says why it cannot be.
func (p *pass) handOver(cause v1alpha1.FailoverCause, why string, settledOnly bool) decision {
	to, found := p.handOverTarget(settledOnly)
	if !found {
		return blocked(v1alpha1.ReasonHeldNobodyToTakeOver, why+", and no replica that is ready and in sync can take over")
	}
	action := HandOver{From: p.verdict.Node, To: to, Cause: cause, Why: why}
	if p.verdict.BySentinels {
		action.Monitor = monitorName(p.o)
	} else if name, unknown := p.unknownSentinel(); unknown {
		// A Sentinel that cannot be asked may monitor the Valkey, and would take a hand-over behind its back for the loss of the primary.
		return blocked(v1alpha1.ReasonSentinelsUnreachable, why+", and "+name+" cannot be asked")
	}
	return do(action)
}

// unknownSentinel is a Sentinel of the set that monitors that did not answer.
func (p *pass) unknownSentinel() (string, bool) {
	if !p.isMonitored() {
		return "", false
	}
	for _, s := range p.o.Snapshot.Sentinels {
		if !s.Reach.OK() {
			return s.Name, true
		}
	}
	return "", false
}
