// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"slices"
	"time"

	"github.com/valkeykube/valkeykube/pkg/topology"
	"github.com/valkeykube/valkeykube/pkg/topology/view"
)

const (
	// copyPatience is how long a node may take to get a complete copy before it counts as one that gets none; copyPatienceAlone, where besides the
	// primary nobody has one. What it held before may be the last other copy until the new one is whole.
	copyPatience      = 30 * time.Second
	copyPatienceAlone = 2 * time.Minute
)

// followCopies notes since when nodes that follow a primary hold no complete copy.
func (p *pass) followCopies() {
	before := p.plan.Memory.IncompleteSince
	now := map[string]time.Time{}
	for _, n := range p.o.Nodes {
		since := before[n.Object.Name]
		sinceWhen(&since, p.lacksCopy(n), p.o.Now)
		if !since.IsZero() {
			now[n.Object.Name] = since
		}
	}
	p.plan.Memory.IncompleteSince = now
}

func (p *pass) lacksCopy(n Node) bool {
	if !p.verdict.Confirmed || p.verdict.InFlight {
		return false
	}
	leader, _ := p.o.Snapshot.Member(p.verdict.Node)
	m := p.member(n)
	return m.Reach.OK() && m.Role == topology.RoleReplica && follows(m, leader) && !view.Synced(m, leader)
}

// incomplete is the last node that follows a primary that is certain, and has got no complete copy for long. The change may be what it needs for one.
func (p *pass) incomplete(pending []Node) (Node, bool) {
	patience := copyPatienceAlone
	if slices.ContainsFunc(p.wanted(), func(n Node) bool { return n.Object.Name != p.verdict.Node && p.isSynced(n) }) {
		patience = copyPatience
	}
	for _, n := range slices.Backward(pending) {
		since, lacks := p.plan.Memory.IncompleteSince[n.Object.Name]
		if lacks && p.o.Now.Sub(since) >= patience {
			return n, true
		}
	}
	return Node{}, false
}
