// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"cmp"
	"slices"

	"github.com/valkeykube/valkeykube/pkg/topology"
	"github.com/valkeykube/valkeykube/pkg/topology/view"
)

// handOverTarget is the node that a primary in service may be handed over to: proven in sync, ready, not on its way out and, where that is
// asked for, with nothing pending. The furthest is best, and among equals the one with the lowest index.
func (p *pass) handOverTarget(settledOnly bool) (string, bool) {
	leader, _ := memberNamed(p.o.Snapshot, p.verdict.Node)
	var fit []Node
	for _, n := range p.wanted() {
		m := p.member(n)
		if n.Object.Name == p.verdict.Node || !view.Synced(m, leader) || m.Priority == 0 || !isUp(n) || settledOnly && !isSettled(n) {
			continue
		}
		fit = append(fit, n)
	}
	if len(fit) == 0 {
		return "", false
	}
	best := slices.MinFunc(fit, func(a, b Node) int {
		return cmp.Or(cmp.Compare(p.member(b).Offset, p.member(a).Offset), cmp.Compare(a.Index, b.Index))
	})
	return best.Object.Name, true
}

// successor is the member to promote when the primary is lost: among those that answer and hold a complete copy the one that is furthest.
// One without data counts only where nobody has any, and where the lost primary had none either.
func (p *pass) successor() (topology.Member, bool) {
	var fit []topology.Member
	data := false
	for _, n := range p.wanted() {
		m := p.member(n)
		if n.Object.Name == p.verdict.Node || !m.Reach.OK() || m.Loading || m.Syncing || m.Role != topology.RoleReplica || m.Priority == 0 {
			continue
		}
		fit = append(fit, m)
		data = data || m.Keys > 0
	}
	for _, m := range p.o.Snapshot.Members {
		data = data || m.Reach.OK() && m.Keys > 0
	}
	fit = slices.DeleteFunc(fit, func(m topology.Member) bool { return m.Keys == 0 && (data || !p.mayBeEmpty(m)) })
	if len(fit) == 0 {
		return topology.Member{}, false
	}
	memory := p.o.Memory
	return slices.MinFunc(fit, func(a, b topology.Member) int {
		return cmp.Or(
			cmp.Compare(rank(b.ReplID == memory.PrimaryHistory), rank(a.ReplID == memory.PrimaryHistory)),
			cmp.Compare(b.Offset, a.Offset),
			cmp.Compare(a.Priority, b.Priority),
			cmp.Compare(a.Name, b.Name))
	}), true
}

// mayBeEmpty tells whether an empty replica may be the copy of an empty primary: it was seen to be empty, or, where nobody saw it, the
// replica has been linked in its life and so is not one whose first copy never came.
func (p *pass) mayBeEmpty(m topology.Member) bool {
	if p.o.Memory.PrimaryKnown {
		return p.o.Memory.PrimaryKeys == 0
	}
	return m.LinkDownFor >= 0
}

func rank(yes bool) int {
	if yes {
		return 1
	}
	return 0
}
