// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"slices"
	"time"
)

const (
	// straysAfter is how long the machines of a cluster may take until a Service that leads elsewhere does so on all of them: kube-proxy gathers
	// changes for a second.
	straysAfter = 1500 * time.Millisecond
	// straysUntil is when it is no longer waited for that the old primary is a replica: the Sentinels cut off its clients when they make it one.
	straysUntil = 10 * time.Second
	// straysGiveUp is when it is no longer tried to cut them off.
	straysGiveUp = time.Minute
)

// stepStrays cuts off the clients of the node that the primary's Service led to before: one that was cut off by the change, and came back before
// its machine knew the new route, is connected to a replica. It would be told READONLY for as long as it keeps the connection.
func stepStrays(p *pass) decision {
	memory := &p.plan.Memory
	m, _ := p.o.Snapshot.Member(memory.Left)
	isReplica, waited := m.Reach.OK() && !isPrimary(m), p.o.Now.Sub(memory.LeftAt)
	if memory.Left == "" || waited < straysAfter || !isReplica && waited < straysUntil {
		return decision{}
	}
	memory.Left, memory.LeftAt = "", time.Time{}
	if !isReplica {
		return decision{}
	}
	return do(CutOff{Node: m.Name})
}

// stillAstray puts back what the plan took for done: an order to cut off clients that was not carried out is given again, until its time is up.
func (m *Memory) stillAstray(o Observed, outcomes []Outcome) {
	done := slices.ContainsFunc(outcomes, func(outcome Outcome) bool {
		_, cuts := outcome.Action.(CutOff)
		return cuts && outcome.Done()
	})
	if !done && m.Left == "" && o.Now.Sub(o.Memory.LeftAt) < straysGiveUp {
		m.Left, m.LeftAt = o.Memory.Left, o.Memory.LeftAt
	}
}

// followRoute remembers where the primary's Service leads, and which node it left.
func (p *pass) followRoute() {
	memory := &p.plan.Memory
	if primaryPod(p.o, p.verdict) == nil {
		return
	}
	if memory.Led != "" && memory.Led != p.verdict.Node {
		memory.Left, memory.LeftAt = memory.Led, p.o.Now
	}
	if memory.Left == p.verdict.Node {
		memory.Left, memory.LeftAt = "", time.Time{}
	}
	memory.Led = p.verdict.Node
}
