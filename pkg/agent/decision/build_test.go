// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package decision

import (
	"time"

	"github.com/valkeykube/valkeykube/pkg/topology"
)

// The histories of the tests: B began where A had been left, C where B had.
func onA(offset int64) Position { return Position{ReplID: "A", Offset: offset} }
func onB(offset int64) Position { return Position{ReplID: "B", Offset: offset, History: []string{"A"}} }
func onC(offset int64) Position {
	return Position{ReplID: "C", Offset: offset, History: []string{"A", "B"}}
}
func stranger(offset int64) Position { return Position{ReplID: "Z", Offset: offset} }

type change func(*Input)

// look is what v-0 of a set of three sees: nothing yet, in mode None.
func look(changes ...change) Input {
	in := Input{
		Mode: ModeNone, Self: Self{Name: "v-0", Index: 0}, Limits: DefaultLimits(),
		Peers: []Peer{{Name: "v-1", Index: 1, Sight: Absent}, {Name: "v-2", Index: 2, Sight: Absent}},
	}
	for _, change := range changes {
		change(&in)
	}
	return in
}

// as makes another member the one that looks.
func as(name string) change {
	return func(in *Input) {
		for i, p := range in.Peers {
			if p.Name == name {
				in.Peers[i] = Peer{Name: in.Self.Name, Index: in.Self.Index, Sight: Absent}
				in.Self.Name, in.Self.Index = p.Name, p.Index
			}
		}
	}
}

func mode(mode string) change               { return func(in *Input) { in.Mode = mode } }
func hint(name string) change               { return func(in *Input) { in.Hint = name } }
func persistent(in *Input)                  { in.Persistent = true }
func after(elapsed time.Duration) change    { return func(in *Input) { in.Elapsed = elapsed } }
func sight(name string, sight Sight) change { return peer(name, func(p *Peer) { p.Sight = sight }) }

func data(position Position) change {
	return func(in *Input) { in.Self.HasData, in.Self.Position = true, position }
}

// complete is for a primary's copy, after data.
func complete(in *Input) { in.Self.Complete, in.Self.Position.Whole = true, true }

func record(role topology.Role, primary string, keys int64) change {
	return func(in *Input) { in.Self.Record = &Record{Role: role, Primary: primary, Keys: keys} }
}

func peer(name string, change func(*Peer)) change {
	return func(in *Input) {
		for i := range in.Peers {
			if in.Peers[i].Name == name {
				change(&in.Peers[i])
			}
		}
	}
}

// running puts a server with data there.
func running(name string, role topology.Role, follows string, position Position) change {
	return peer(name, func(p *Peer) {
		p.Server = &Server{Role: role, Follows: follows, LinkUp: true, HasData: true, Position: position}
	})
}

func primary(name string, position Position) change {
	return running(name, topology.RolePrimary, "", position)
}

func replica(name, follows string, position Position) change {
	return running(name, topology.RoleReplica, follows, position)
}

// unlinked is a replica whose server shows one position, and whose agent knows another.
func unlinked(name, follows string, shown, known Position) change {
	return peer(name, func(p *Peer) {
		p.Server = &Server{Role: topology.RoleReplica, Follows: follows, HasData: true, Position: shown}
		p.Agent = &Agent{HasData: true, Position: known}
	})
}

func emptied(name string) change { return peer(name, func(p *Peer) { p.Server.HasData = false }) }

func loading(name string) change {
	return peer(name, func(p *Peer) { p.Server.HasData, p.Server.Loading = false, true })
}

// deciding puts an agent there that has not started its server.
func deciding(name, named string, source Source, changes ...func(*Agent)) change {
	return peer(name, func(p *Peer) {
		p.Agent = &Agent{Deciding: true, Named: named, Source: source}
		for _, change := range changes {
			change(p.Agent)
		}
	})
}

func holding(position Position) func(*Agent) {
	return func(a *Agent) { a.HasData, a.Position = true, position }
}

func starting(name string) func(*Agent) { return func(a *Agent) { a.Starts = name } }
func standingBack(a *Agent)             { a.StandsBack = true }

// sentinels makes three of them say so. An empty word is an answer without a monitor.
func sentinels(epoch int64, says ...string) change {
	return func(in *Input) {
		in.Mode = ModeSentinel
		for _, word := range says {
			in.Sentinels = append(in.Sentinels, Sentinel{Answered: word != "-", Says: map[bool]string{false: word}[word == "-"], Epoch: epoch})
		}
	}
}

func pending(in *Input) {
	for i := range in.Sentinels {
		in.Sentinels[i].Pending = true
	}
}
