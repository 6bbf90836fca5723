// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"fmt"
	"time"

	"github.com/valkeykube/valkeykube/pkg/apis/valkey/v1alpha1"
	"github.com/valkeykube/valkeykube/pkg/topology"
)

// stepFailover promotes a replica when the primary is lost, in mode Operator only: in mode Sentinel the Sentinels do, and are asked to where
// they cannot bring themselves to it, or have not heard who is; in mode None a person.
// The primary must have been away for failover.operator.downAfter, and no replica may hear from it; an empty one among nodes with data does
// not get that time, because what follows it would be lost. Changes the primary.
func stepFailover(p *pass) decision {
	if told, behind := p.tellSentinels(); behind {
		return told
	}
	lost := p.isAway() || len(p.verdict.Endangered) > 0
	switch {
	case p.verdict.Confirmed || !lost:
		return decision{}
	case p.o.Valkey.Spec.Failover.Mode == v1alpha1.FailoverModeNone:
		return blocked(v1alpha1.ReasonPersonMustDecide,
			p.verdict.Message+"; with failover mode None a person decides: see the subresource \"failover\"")
	case p.o.Valkey.Spec.Failover.Mode == v1alpha1.FailoverModeSentinel:
		return p.askSentinels()
	case p.verdict.InFlight:
		return blocked(v1alpha1.ReasonFailoverInProgress, "a failover is in flight")
	}
	downAfter := p.downAfter()
	if len(p.verdict.Endangered) == 0 {
		if p.o.Now.Sub(p.plan.Memory.AwaySince) < downAfter {
			return blocked(v1alpha1.ReasonPrimaryLost, fmt.Sprintf("%s; a replica is promoted after %s", p.verdict.Message, downAfter))
		}
		if witness, hears := p.witness(downAfter); hears {
			return blocked(v1alpha1.ReasonPrimaryUnreachable, fmt.Sprintf("%s, but %s hears from it", p.verdict.Message, witness))
		}
	}
	to, found := p.successor()
	if !found {
		return blocked(v1alpha1.ReasonNoCandidate, p.verdict.Message+", and no node that answers holds a complete copy")
	}
	return do(Promote{From: p.verdict.Node, To: to.Member.Name, Why: p.verdict.Message + "; " + to.Text})
}

// downAfter is how long the primary must be away before the controller promotes a replica.
func (p *pass) downAfter() time.Duration {
	if operator := p.o.Valkey.Spec.Failover.Operator; operator != nil && operator.DownAfter != nil {
		return operator.DownAfter.Duration
	}
	return v1alpha1.DefaultDownAfter
}

// witness is a replica whose link to the primary, which does not answer us, is up, and that has heard from it within the time.
func (p *pass) witness(within time.Duration) (string, bool) {
	leader, _ := p.o.Snapshot.Member(p.verdict.Node)
	if !isGone(leader) {
		return "", false
	}
	for _, m := range p.o.Snapshot.Members {
		if m.Reach.OK() && m.Role == topology.RoleReplica && follows(m, leader) && m.LinkUp && m.LastIO >= 0 && m.LastIO < within {
			return m.Name, true
		}
	}
	return "", false
}
