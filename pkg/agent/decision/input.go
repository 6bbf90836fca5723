// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package decision

import (
	"time"

	"github.com/valkeykube/valkeykube/pkg/topology"
)

// The failover modes, as boot settings spell them.
const (
	ModeNone     = "None"
	ModeOperator = "Operator"
	ModeSentinel = "Sentinel"
)

// Input is everything a decision is made of: one look at the set from one node that has not started its server yet.
// Members are called by their names; an address that is no member's stands as "host:port".
type Input struct {
	Mode string
	// Hint is the primary when the controller last looked. Empty: there never was one.
	Hint string
	// Persistent: the data directories are volumes that outlive the pods.
	Persistent bool
	Self       Self
	// Peers are the other members.
	Peers []Peer
	// Sentinels are all that should monitor the set, whether they answered or not.
	Sentinels []Sentinel
	// Elapsed is how long this node has been deciding.
	Elapsed time.Duration
	Limits  Limits
}

// Self is the node that decides.
type Self struct {
	Name  string
	Index int
	// HasData: there are keys on its disk.
	HasData bool
	// Position of the data on its disk.
	Position Position
	// Complete: the data on its disk is all that it ever had.
	Complete bool
	// Record is what was last seen of its own server. Nil: nothing.
	Record *Record
	// Intends: it decided to become the primary, and has told so to whoever asks its agent.
	Intends bool
}

// Record is what an agent remembers of its server across restarts.
type Record struct {
	Role topology.Role
	// Primary is whom the server followed.
	Primary string
	Keys    int64
}

// Sight says what is known of a peer that did not answer.
type Sight int

// The sights. Unreachable: it has an address, but neither its server nor its agent answers. Absent: its name does not
// exist, so there is no pod. Blind: names could not be resolved, so nothing is known.
const (
	Unreachable Sight = iota
	Absent
	Blind
)

// Peer is another member.
type Peer struct {
	Name  string
	Index int
	// Sight counts only when neither Server nor Agent answered.
	Sight Sight
	// Server is what its server says; nil when it does not answer.
	Server *Server
	// Agent is what its agent says; nil when it does not answer.
	Agent *Agent
}

// Server is a running server.
type Server struct {
	Role topology.Role
	// Follows is whose replica it is.
	Follows         string
	LinkUp, Loading bool
	// HasData: it holds keys. Not known while it is loading.
	HasData  bool
	Position Position
}

// Agent is what another agent says of its node.
type Agent struct {
	// Deciding: it has not started its server.
	Deciding bool
	// Named is whom it alone, without hearsay, holds for the primary, and Source why.
	Named  string
	Source Source
	// Starts is its decision: its own name if as primary, otherwise whom its server follows. Empty: none yet.
	Starts string
	// Intends to become the primary; it will look once more before it does.
	Intends bool
	// StandsBack: it is taken for the primary, but leaves that to a peer which has data that it lacks.
	StandsBack bool
	HasData    bool
	Position   Position
	WasPrimary bool
}

// Sentinel is one Sentinel's word.
type Sentinel struct {
	Answered bool
	// Says is whom it names; empty when it does not monitor the set.
	Says string
	// Epoch is that of its configuration; 0 until the first failover that it knows of.
	Epoch int64
	// Pending: it holds the primary for down, or a failover is in flight.
	Pending bool
}

// Limits bound the waits. Each is counted from the beginning.
type Limits struct {
	// Sentinels: until a majority of the Sentinels answers.
	Sentinels time.Duration
	// Bootstrap: until the first primary of a new set shows itself.
	Bootstrap time.Duration
	// Pending: until a failover that is due, or in flight, has happened.
	Pending time.Duration
	// Missing: for members that do not answer while others are running.
	Missing time.Duration
	// Cold: for members that do not answer while none is running.
	Cold time.Duration
	// Authority: for somebody to promote a peer, while this node holds older data; and for the primary of a cold start to
	// start, while its agent answers.
	Authority time.Duration
	// Empty: for members that do not answer, while this node holds no data and would become the primary.
	Empty time.Duration
}

// DefaultLimits are those of production.
func DefaultLimits() Limits {
	return Limits{
		Sentinels: 10 * time.Second, Bootstrap: 10 * time.Second, Pending: 15 * time.Second, Missing: 5 * time.Second,
		Cold: 30 * time.Second, Authority: time.Minute, Empty: 2 * time.Minute,
	}
}

func (p Peer) visible() bool { return p.Server != nil || p.Agent != nil }

func (p Peer) running() bool { return p.Server != nil }

// isPrimary: it serves as one, or is about to.
func (p Peer) isPrimary() bool {
	if p.Server != nil {
		return p.Server.Role == topology.RolePrimary
	}
	return p.Agent != nil && p.Agent.Starts == p.Name
}

// hasData believes the server before the agent: a dataset that was flushed has still its old files.
func (p Peer) hasData() bool {
	if p.Server != nil && !p.Server.Loading {
		return p.Server.HasData
	}
	return p.Agent != nil && p.Agent.HasData || p.Agent == nil && p.Server != nil
}

// MayHoldData are the peers that hold data by what they say, and those of whom nothing is known because names do not resolve.
func MayHoldData(peers []Peer) []string {
	var may []string
	for _, p := range peers {
		if p.hasData() || !p.visible() && p.Sight == Blind {
			may = append(may, p.Name)
		}
	}
	return may
}

// position believes the server, except that a replica which has not been linked since its start may show another history than
// its data is from. Only the agent knows the histories before, but it looks at its server only now and then.
func (p Peer) position() Position {
	switch {
	case p.Server == nil && p.Agent == nil:
		return Position{}
	case p.Server == nil:
		return p.Agent.Position
	case p.Agent == nil || p.Agent.Position.ReplID == "":
		return p.Server.Position
	}
	server, agent := p.Server.Position, p.Agent.Position
	position := agent
	switch {
	case server.ReplID == agent.ReplID:
		position = agent.MovedTo(server.ReplID, max(server.Offset, agent.Offset), agent.When, server.History...)
	case p.Server.Role == topology.RolePrimary || p.Server.LinkUp:
		position = agent.MovedTo(server.ReplID, server.Offset, agent.When, server.History...)
	}
	position.Whole = p.Server.Role == topology.RolePrimary
	return position
}

func (p Peer) candidate() candidate {
	return candidate{
		name: p.Name, index: p.Index, position: p.position(), hasData: p.hasData(), wasPrimary: p.Agent != nil && p.Agent.WasPrimary,
	}
}

func (s Self) wasPrimary() bool { return s.Record != nil && s.Record.Role == topology.RolePrimary }

func (s Self) candidate() candidate {
	return candidate{name: s.Name, index: s.Index, position: s.Position, hasData: s.HasData, wasPrimary: s.wasPrimary()}
}

func (in Input) peer(name string) (Peer, bool) {
	for _, p := range in.Peers {
		if p.Name == name {
			return p, true
		}
	}
	return Peer{}, false
}

func (in Input) isMember(name string) bool {
	_, known := in.peer(name)
	return known || name == in.Self.Name
}

func (in Input) anyPeer(is func(Peer) bool) bool {
	for _, p := range in.Peers {
		if is(p) {
			return true
		}
	}
	return false
}

// unseen are the members that nothing is known of.
func (in Input) unseen() []Peer {
	var unseen []Peer
	for _, p := range in.Peers {
		if !p.visible() {
			unseen = append(unseen, p)
		}
	}
	return unseen
}

// isNew: nothing shows that this set ever had a primary or data.
func (in Input) isNew() bool {
	return in.Hint == "" && in.Self.Record == nil && !in.Self.HasData && !in.anyPeer(Peer.hasData)
}
