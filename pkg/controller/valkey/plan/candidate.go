// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"cmp"
	"slices"

	"github.com/valkeykube/valkeykube/pkg/topology"
)

// handOverTarget is the node that a primary in service may be handed over to without losing anything: in sync, ready, not on its way out
// and, where that is asked for, with nothing pending. The furthest is best, and among equals the one with the lowest index.
func (p *pass) handOverTarget(settledOnly bool) (string, bool) {
	var fit []Node
	for _, n := range p.wanted() {
		refusal, _ := p.o.Snapshot.CanFailover(p.verdict.Node, n.Object.Name)
		if refusal == "" && isUp(n) && (!settledOnly || isSettled(n)) {
			fit = append(fit, n)
		}
	}
	if len(fit) == 0 {
		return "", false
	}
	best := slices.MinFunc(fit, func(a, b Node) int {
		return cmp.Or(cmp.Compare(p.member(b).Offset, p.member(a).Offset), cmp.Compare(a.Index, b.Index))
	})
	return best.Object.Name, true
}

// successor is the node to promote when the primary is lost: among the replicas that answer and hold a complete copy the one that lacks the
// least, also if it is to be removed: its data come first. One without data counts only where nobody that answers has any, and the lost primary had none either.
func (p *pass) successor() (topology.Candidate, bool) {
	data := slices.ContainsFunc(p.o.Snapshot.Members, topology.Member.HasData)
	var fit topology.Snapshot
	for _, n := range p.o.Nodes {
		m := p.member(n)
		if m.Role == topology.RoleReplica && isUsable(n) && (m.HasData() || !data && p.mayBeEmpty(m)) {
			fit.Members = append(fit.Members, m)
		}
	}
	// The lost primary counts too if it answers, as a replica: then nobody is primary, and it may hold the most.
	return fit.BestReplica("")
}

// isUsable tells whether the node stays for a while.
func isUsable(n Node) bool {
	return n.Object.DeletionTimestamp == nil && n.Pod != nil && n.Pod.DeletionTimestamp == nil
}

// mayBeEmpty tells whether an empty replica may be the copy of an empty primary: it was seen to be empty, or, where nobody saw it, the
// replica has been linked in its life and so is not one whose first copy never came.
func (p *pass) mayBeEmpty(m topology.Member) bool {
	if p.o.Memory.PrimaryKnown {
		return p.o.Memory.PrimaryKeys == 0
	}
	return m.LinkDownFor >= 0
}
