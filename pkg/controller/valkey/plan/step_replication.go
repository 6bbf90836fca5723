// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"fmt"

	"github.com/valkeykube/valkeykube/pkg/apis/valkey/v1alpha1"
	"github.com/valkeykube/valkeykube/pkg/topology"
)

// stepReplication makes nodes that follow nobody, or somebody else, follow the primary: only one that is confirmed, so never one that lacks
// what another node holds, and only while no failover is in flight. What is wrong must have been seen by the pass before too: a look at
// several nodes takes a moment, and in a hand-over two may say that they are primary. A node's copy is replaced by the primary's.
//
// Beside an operation only that is done which cannot wait for the end of a claim whose owner died: without Sentinels nobody else stops a former
// primary that has come back.
func stepReplication(p *pass) decision {
	astray := map[string]string{}
	p.plan.Memory.Astray = astray
	if !p.verdict.Confirmed || p.verdict.InFlight || !p.sentinelsAgree() {
		return decision{}
	}
	leader, _ := p.o.Snapshot.Member(p.verdict.Node)
	var d decision
	for _, orphan := range p.o.Snapshot.Orphans(leader.Name) {
		if m, _ := p.o.Snapshot.Member(orphan.Name); !m.Reach.OK() || m.Loading {
			continue
		}
		if p.claimed && (orphan.Kind != topology.OrphanExtraPrimary || p.verdict.BySentinels || p.takesPart(orphan.Name)) {
			continue
		}
		why := astrayText(orphan)
		astray[orphan.Name] = why
		if p.o.Memory.Astray[orphan.Name] == why {
			d = d.and(do(Follow{Node: orphan.Name, Primary: leader.Name, Address: leader.Address, Why: why}))
		} else {
			d = d.and(blocked(v1alpha1.ReasonWrongPrimary, orphan.Name+" "+why))
		}
	}
	return d
}

// takesPart tells whether the claimed operation is about the node, or may be.
func (p *pass) takesPart(node string) bool {
	operation := p.plan.Operation
	return operation.From == "" || operation.To == "" || operation.From == node || operation.To == node
}

// astrayText says to a person whom the node follows. It does not change while nothing does.
func astrayText(orphan topology.Orphan) string {
	switch {
	case orphan.Kind == topology.OrphanExtraPrimary && orphan.HoldsMore:
		return "says that it is primary, and holds something that the primary lacks"
	case orphan.Kind == topology.OrphanExtraPrimary:
		return "says that it is primary"
	}
	return fmt.Sprintf("follows %s", orphan.Follows)
}

func follows(m, leader topology.Member) bool { return leader.Is(m.Primary) }

// sentinelsAgree tells whether every Sentinel that answers and holds the monitor names the primary. Without Sentinels nobody disagrees.
func (p *pass) sentinelsAgree() bool {
	return !p.verdict.BySentinels || p.o.Snapshot.SentinelPrimary(monitorName(p.o)).Agreed
}
