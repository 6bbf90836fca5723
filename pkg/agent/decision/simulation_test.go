// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package decision

import (
	"flag"
	"fmt"
	"math/rand"
	"testing"
	"time"

	"github.com/valkeykube/valkeykube/pkg/topology"
)

var runs = flag.Int("runs", 1000, "simulated cold starts per mode")

// simNode is a member of the model: a dataset is a number, the bigger the newer; 0 is none.
type simNode struct {
	name    string
	comes   int // the second at which its container starts
	data    int
	record  *Record
	hint    string
	pos     Position
	running bool
	primary bool
	follows string
	linked  bool
	last    Outcome
	named   string
	source  Source
	intends bool
	whole   bool
}

type simulation struct {
	mode  string
	nodes []*simNode
	// authority is the second from which Sentinels or controller act; never: -1.
	authority int
	hint      string // what the controller wrote last; all see it in the end
	said      string // whom the Sentinels name
	epoch     int64
	promoted  int
	quiet     int
	log       []string
}

func (s *simulation) node(name string) *simNode {
	for _, n := range s.nodes {
		if n.name == name {
			return n
		}
	}
	return nil
}

func (s *simulation) look(n *simNode, now int) Input {
	in := Input{
		Mode: s.mode, Hint: n.hint, Persistent: true, Elapsed: time.Duration(now-n.comes) * time.Second, Limits: DefaultLimits(),
		Self: Self{Name: n.name, HasData: n.data > 0, Position: n.pos, Complete: n.whole, Intends: n.intends, Record: n.record},
	}
	for i, other := range s.nodes {
		if other == n {
			in.Self.Index = i
			continue
		}
		p := Peer{Name: other.name, Index: i, Sight: Absent}
		if other.comes >= 0 && now > other.comes {
			p.Agent = &Agent{
				Deciding: !other.running, Named: other.named, Source: other.source, HasData: other.data > 0, Position: other.pos,
				Intends: other.intends, StandsBack: other.last.StandsBack(), WasPrimary: other.record != nil && other.record.Role == topology.RolePrimary,
			}
			if other.running {
				p.Agent.Starts = other.follows
				p.Server = &Server{Role: topology.RoleReplica, Follows: other.follows, LinkUp: other.linked, HasData: other.data > 0, Position: other.pos}
				if other.primary {
					p.Agent.Starts, p.Server.Role = other.name, topology.RolePrimary
				}
			}
		}
		in.Peers = append(in.Peers, p)
	}
	for range 3 {
		if s.mode == ModeSentinel {
			in.Sentinels = append(in.Sentinels, Sentinel{Answered: s.authority >= 0 && now >= s.authority, Says: s.said, Epoch: s.epoch})
		}
	}
	return in
}

func (s *simulation) step(now int) {
	// Everybody looks before anybody acts: that is the worst order.
	outcomes := map[*simNode]Outcome{}
	for _, n := range s.nodes {
		if n.comes >= 0 && now > n.comes && !n.running {
			if now > 100 {
				n.hint = s.hint
			}
			in := s.look(n, now)
			n.named, n.source = in.Named()
			outcomes[n] = Decide(in)
		}
	}
	for _, n := range s.nodes {
		if o, decided := outcomes[n]; decided {
			s.carryOut(n, o, now)
		}
	}
	s.replicate()
	s.authorityActs(now)
}

func (s *simulation) carryOut(n *simNode, o Outcome, now int) {
	if o.Code != n.last.Code || o.Action != n.last.Action {
		s.log = append(s.log, fmt.Sprintf("%3d %s %s: %s", now, n.name, short(o), o.Reason))
	}
	n.last = o
	noticed := n.intends
	n.intends = o.NeedsNotice()
	switch o.Action {
	case StartPrimary:
		if n.intends && !noticed {
			return
		}
		n.running, n.primary = true, true
	case StartReplica:
		n.running, n.follows = true, o.Primary
	case Wait:
		if o.Ask == AskPromotion {
			if target := s.node(o.Target); target.running && !target.primary && target.follows == n.name {
				s.promote(target, now)
			}
		}
		if o.Ask == AskFailover && s.authority >= 0 && now >= s.authority {
			s.failover(o.Target, now)
		}
	}
}

func (s *simulation) promote(n *simNode, now int) {
	n.primary, n.linked, n.follows = true, false, ""
	n.pos = n.pos.MovedTo(fmt.Sprintf("promoted-%d", s.promoted), n.pos.Offset, time.Time{})
	s.promoted++
	s.log = append(s.log, fmt.Sprintf("%3d %s is promoted with data %d", now, n.name, n.data))
}

// failover is what Sentinels do: they promote the member that the agent asked for (it has given it the best priority), else the
// replica that is up with the best data; never an empty one, which is kept at priority 0. Real ones go by the offset.
func (s *simulation) failover(target string, now int) {
	best := s.node(target)
	for _, n := range s.nodes {
		if target == "" && n.running && !n.primary && n.data > 0 && n.name != s.said && (best == nil || n.data > best.data) {
			best = n
		}
	}
	if best == nil || !best.running {
		return
	}
	s.promote(best, now)
	s.said, s.epoch = best.name, s.epoch+1
}

func (s *simulation) authorityActs(now int) {
	if s.authority < 0 || now < s.authority {
		return
	}
	up := s.node(s.said)
	down := up == nil || !up.running
	switch s.mode {
	case ModeSentinel:
		if down && now > s.authority+5 {
			s.failover("", now)
		}
		for _, n := range s.nodes {
			if n.running && !down && up.primary && n != up {
				n.primary, n.follows = false, s.said // converted, or pointed elsewhere
			}
		}
	case ModeOperator:
		primaries := 0
		for _, n := range s.nodes {
			if n.running && n.primary {
				primaries++
			}
		}
		if primaries == 0 && now > s.authority+10 {
			var best *simNode
			for _, n := range s.nodes {
				if n.running && n.data > 0 && (best == nil || n.data > best.data) {
					best = n
				}
			}
			if best != nil {
				s.promote(best, now)
			}
		}
	}
}

// replicate copies the dataset of a running primary to those that follow it, through chains too.
func (s *simulation) replicate() {
	for range s.nodes {
		for _, n := range s.nodes {
			up := s.node(n.follows)
			n.linked = n.running && !n.primary && up != nil && up.running && (up.primary || up.linked)
			if n.linked {
				n.data, n.pos = up.data, n.pos.MovedTo(up.pos.ReplID, up.pos.Offset, time.Time{}, up.pos.History...)
			}
		}
	}
}

// randomSimulation is a set of which all containers start anew: who was primary, who has what, who comes when, whose hint is
// old, and whether there is an authority, is drawn.
func randomSimulation(seed int64, mode string) *simulation {
	rng := rand.New(rand.NewSource(seed)) //nolint:gosec // a repeatable test
	s := &simulation{mode: mode, authority: -1}
	if rng.Intn(3) > 0 {
		s.authority = rng.Intn(20)
	}
	count := 2 + rng.Intn(3)
	was := rng.Intn(count)
	before := rng.Intn(count)
	s.hint = fmt.Sprintf("v-%d", was)
	if rng.Intn(2) == 0 {
		s.hint = fmt.Sprintf("v-%d", before)
	}
	for i := range count {
		n := &simNode{name: fmt.Sprintf("v-%d", i), comes: rng.Intn(20)}
		n.data = rng.Intn(4)
		n.pos = Position{ReplID: "second", Offset: int64(n.data), History: []string{"first"}}
		n.record = &Record{Role: topology.RoleReplica, Primary: fmt.Sprintf("v-%d", was), Keys: 1}
		if i == was {
			n.record.Role, n.record.Primary = topology.RolePrimary, ""
			if n.data > 0 && rng.Intn(2) == 0 {
				n.data = 5
				n.pos.Offset, n.pos.Whole, n.whole = 5, true, true
			}
		}
		if i == before && i != was && rng.Intn(2) == 0 { // never heard of the last failover
			n.record.Role, n.record.Primary = topology.RolePrimary, ""
			n.pos, n.data = Position{ReplID: "first", Offset: 100}, min(n.data, 1)
		}
		if n.data == 0 {
			n.pos = Position{}
			if rng.Intn(2) == 0 {
				n.record = nil
			}
		}
		n.hint = s.hint
		if rng.Intn(4) == 0 { // a mount that has not been refreshed
			n.hint = fmt.Sprintf("v-%d", rng.Intn(count))
		}
		s.nodes = append(s.nodes, n)
	}
	s.said = fmt.Sprintf("v-%d", was)
	s.epoch = 1
	if rng.Intn(2) == 0 {
		s.said, s.epoch = fmt.Sprintf("v-%d", before), 0
	}
	return s
}

// best is the newest data that was there at the beginning on nodes that come.
func (s *simulation) best() int {
	best := 0
	for _, n := range s.nodes {
		best = max(best, n.data)
	}
	return best
}

// What must hold however a cold start goes, while all members come within the bounds: somebody serves, unless only the
// authority may decide and there is none; nobody follows in a circle; the newest data is what is served, and no second
// primary is left by the agents.
func TestColdStartsNeverLoseTheNewestDataAndNeverHang(t *testing.T) {
	for _, mode := range []string{ModeNone, ModeOperator, ModeSentinel} {
		t.Run(mode, func(t *testing.T) {
			for seed := range int64(*runs) {
				s := randomSimulation(seed, mode)
				newest := s.best()
				for now := 0; now < 400 && !s.settled(); now++ {
					s.step(now)
				}
				if problem := s.judge(newest); problem != "" {
					for _, line := range s.log {
						t.Log(line)
					}
					for _, n := range s.nodes {
						t.Logf("%+v", *n)
					}
					t.Fatalf("seed %d (%d nodes, authority from %d, Sentinels %s epoch %d): %s", seed, len(s.nodes), s.authority, s.said, s.epoch, problem)
				}
			}
		})
	}
}

// settled: all run, and the authority has had time to act.
func (s *simulation) settled() bool {
	for _, n := range s.nodes {
		if !n.running {
			return false
		}
	}
	s.quiet++
	return s.quiet > 60
}

func (s *simulation) judge(newest int) string {
	primaries, waiting := 0, 0
	for _, n := range s.nodes {
		switch {
		case !n.running:
			waiting++
			if !n.last.StandsBack() {
				return n.name + " waits for ever: " + n.last.Reason
			}
		case n.primary:
			primaries++
			olderIsAllowed := n.last.Code == CodeServesOlder
			if n.data < newest && !olderIsAllowed {
				return fmt.Sprintf("%s serves data %d, but there was %d", n.name, n.data, newest)
			}
		}
	}
	for _, n := range s.nodes {
		if n.running && !n.primary && s.circle(n) {
			return n.name + " follows in a circle"
		}
	}
	if primaries > 1 {
		return "more than one primary"
	}
	if primaries == 0 && (s.mode == ModeNone || s.authority >= 0) {
		return "nobody serves"
	}
	if waiting > 0 && (s.mode == ModeNone || s.authority >= 0) {
		return "a node never started"
	}
	return ""
}

func (s *simulation) circle(n *simNode) bool {
	for range s.nodes {
		next := s.node(n.follows)
		if next == nil || next.primary || !next.running {
			return false
		}
		n = next
	}
	return true
}
