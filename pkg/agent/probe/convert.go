// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package probe

import (
	"strings"
	"time"

	"github.com/valkeykube/valkeykube/pkg/agent/decision"
	"github.com/valkeykube/valkeykube/pkg/topology"
)

// Decision is what a report says, for a decision; nil if it is not about a data node.
func (r Report) Decision() *decision.Agent {
	n := r.Node
	if n == nil {
		return nil
	}
	return &decision.Agent{
		Deciding: r.Phase == PhaseDeciding, Named: n.Named, Source: n.Source, Starts: n.Starts, Intends: n.Intends,
		StandsBack: n.StandsBack, HasData: n.HasData, Position: n.Position, WasPrimary: n.WasPrimary,
	}
}

// maxAge is for how long the word of an agent about its server counts.
const maxAge = 5 * time.Second

// Server is the server behind an agent, by the agent's word: for one that is there and does not let this one in, as while a
// password is being changed. Nil if the agent has not seen it lately.
func (r Report) Server(now time.Time) *decision.Server {
	if r.Node == nil || r.Node.Running == nil || now.Sub(r.Node.Running.Seen) > maxAge {
		return nil
	}
	running := r.Node.Running
	return &decision.Server{
		Role: running.Role, Follows: running.Follows, LinkUp: running.LinkUp, Loading: running.Loading, HasData: running.Keys > 0,
		Position: r.Node.Position,
	}
}

// ServerOf is a server that was looked at. nameOf makes a member's name of an address.
func ServerOf(m topology.Member, nameOf func(topology.Address) string) *decision.Server {
	server := &decision.Server{
		Role: m.Role, Follows: nameOf(m.Primary), LinkUp: m.LinkUp, Loading: m.Loading, HasData: m.Keys > 0,
		Position: decision.Position{ReplID: m.ReplID, Offset: m.Offset},
	}
	if before := m.ReplID2; strings.Trim(before, "0") != "" {
		server.Position.History = []string{before}
	}
	return server
}
