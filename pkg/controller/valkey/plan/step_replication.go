// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"fmt"

	"github.com/valkeykube/valkeykube/pkg/apis/valkey/v1alpha1"
	"github.com/valkeykube/valkeykube/pkg/topology"
	"github.com/valkeykube/valkeykube/pkg/topology/view"
)

// stepReplication makes nodes that follow nobody, or somebody else, follow the primary: only one that is confirmed, so never one that lacks
// what another node holds, and only while no failover is in flight. What is wrong must have been seen by the pass before too: a look at
// several nodes takes a moment, and in a hand-over two may say that they are primary. A node's copy is replaced by the primary's.
func stepReplication(p *pass) decision {
	astray := map[string]string{}
	p.plan.Memory.Astray = astray
	if !p.verdict.Confirmed || p.verdict.InFlight || !p.sentinelsAgree() {
		return decision{}
	}
	leader, _ := memberNamed(p.o.Snapshot, p.verdict.Node)
	var d decision
	for _, m := range p.o.Snapshot.Members {
		why := strays(m, leader)
		if why == "" {
			continue
		}
		astray[m.Name] = why
		if p.o.Memory.Astray[m.Name] == why {
			d = d.and(do(Follow{Node: m.Name, Primary: leader.Name, Address: leader.Address, Why: why}))
		} else {
			d = d.and(blocked(v1alpha1.ReasonWrongPrimary, m.Name+" "+why))
		}
	}
	return d
}

// strays says what is wrong with whom the member follows, and nothing where it is right or not known.
func strays(m, leader topology.Member) string {
	switch {
	case m.Name == leader.Name || !m.Reach.OK() || m.Loading:
		return ""
	case m.Role == topology.RolePrimary:
		return "says that it is primary"
	case m.Role == topology.RoleReplica && !follows(m, leader):
		return fmt.Sprintf("follows %s", m.Primary)
	}
	return ""
}

func follows(m, leader topology.Member) bool { return view.Is(m.Primary, leader) }

// sentinelsAgree tells whether every Sentinel that answers and holds the monitor names the primary. Without Sentinels nobody disagrees.
func (p *pass) sentinelsAgree() bool {
	if !p.verdict.BySentinels {
		return true
	}
	leader, _ := memberNamed(p.o.Snapshot, p.verdict.Node)
	name := v1alpha1.EffectiveMonitorName(p.o.Valkey)
	for _, s := range p.o.Snapshot.Sentinels {
		if monitor, held := s.Monitors[name]; s.Reach.OK() && held && !view.Is(monitor.Primary, leader) {
			return false
		}
	}
	return true
}
