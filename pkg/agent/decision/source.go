// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package decision

import (
	"slices"

	"github.com/valkeykube/valkeykube/pkg/topology"
)

// Source is why somebody is held for the primary.
type Source string

// The sources.
const (
	// SourceNone: nobody is named.
	SourceNone Source = ""
	// SourceSentinels: a majority of the Sentinels answers, and those that know of the latest failover agree.
	SourceSentinels Source = "Sentinels"
	// SourceRunning: a member serves as primary.
	SourceRunning Source = "a running primary"
	// SourceSentinelsUnconfirmed: the Sentinels name it, but too few answer, or they have never seen a failover and may only
	// repeat what they were told when they were started.
	SourceSentinelsUnconfirmed Source = "Sentinels, unconfirmed"
	// SourceReplicas: most running replicas follow it.
	SourceReplicas Source = "running replicas"
	// SourceHint: the controller said so when it last looked.
	SourceHint Source = "the controller's hint"
	// SourceRecord: this node's own record, or that of a peer.
	SourceRecord Source = "the node's record"
)

// ranks are the sources from the weakest to the strongest.
var ranks = []Source{
	SourceNone, SourceRecord, SourceHint, SourceReplicas, SourceSentinelsUnconfirmed, SourceRunning, SourceSentinels,
}

func (s Source) rank() int { return slices.Index(ranks, s) }

// named is whom the set holds for its primary.
type named struct {
	name   string
	source Source
}

// Named is whom this node alone, without hearsay, holds for the primary, and why. It is what other agents are told.
func (in Input) Named() (string, Source) {
	n := in.own()
	return n.name, n.source
}

// own is the primary by what this node sees itself.
func (in Input) own() named {
	word, confirmed := in.sentinelWord()
	if p, known := in.peer(word); word != "" && (confirmed || known && p.isPrimary()) {
		return named{word, SourceSentinels}
	}
	if name := in.runningPrimary(word); name != "" {
		return named{name, SourceRunning}
	}
	if word != "" && !in.refutesItself(word) {
		return named{word, SourceSentinelsUnconfirmed}
	}
	if name := in.replicasWord(); name != "" {
		return named{name, SourceReplicas}
	}
	if in.isMember(in.Hint) && !in.refutesItself(in.Hint) {
		return named{in.Hint, SourceHint}
	}
	return in.recorded()
}

func (in Input) recorded() named {
	record := in.Self.Record
	switch {
	case record == nil:
		return named{}
	case record.Role == topology.RolePrimary:
		return named{in.Self.Name, SourceRecord}
	case in.isMember(record.Primary):
		return named{record.Primary, SourceRecord}
	}
	return named{}
}

// consensus is own, or what a peer that is deciding too has from a stronger source. Without it two nodes that see different
// things could wait for, or follow, each other. Peers pass on only what they see themselves: hearsay does not echo. A dispute
// between equal sources is settled by the data, the same way for all who see the same.
func (in Input) consensus() named {
	best := in.own()
	words := []string{best.name}
	for _, p := range in.Peers {
		if p.Agent == nil || !p.Agent.Deciding || p.running() || !in.isMember(p.Agent.Named) || in.refutesItself(p.Agent.Named) {
			continue
		}
		switch rank := p.Agent.Source.rank(); {
		case rank > best.source.rank():
			best = named{p.Agent.Named, p.Agent.Source}
			words = []string{best.name}
		case rank == best.source.rank():
			words = append(words, p.Agent.Named)
		}
	}
	var claimants []candidate
	for _, name := range words {
		if c, known := in.candidateOf(name); known && name != best.name {
			claimants = append(claimants, c)
		}
	}
	if c, known := in.candidateOf(best.name); known {
		claimants = append(claimants, c)
	}
	if chosen, some := newest(claimants); some {
		best.name = chosen.name
	}
	return best
}

// candidateOf knows those members that are visible.
func (in Input) candidateOf(name string) (candidate, bool) {
	if name == in.Self.Name {
		return in.Self.candidate(), true
	}
	p, known := in.peer(name)
	return p.candidate(), known && p.visible()
}

// sentinelWord is whom the Sentinels name, and whether that is beyond doubt. The highest epoch wins, as it does among
// Sentinels; among equals the majority.
func (in Input) sentinelWord() (name string, confirmed bool) {
	if in.Mode != ModeSentinel {
		return "", false
	}
	answered, epoch := 0, int64(-1)
	for _, s := range in.Sentinels {
		if s.Answered {
			answered++
		}
		if s.Answered && s.Says != "" {
			epoch = max(epoch, s.Epoch)
		}
	}
	votes := map[string]int{}
	for _, s := range in.Sentinels {
		if s.Answered && s.Says != "" && s.Epoch == epoch {
			votes[s.Says]++
		}
	}
	return in.mostVotes(votes), epoch > 0 && 2*answered > len(in.Sentinels)
}

// mostVotes prefers the hint among equals, and then the order of names.
func (in Input) mostVotes(votes map[string]int) string {
	best := ""
	for name, count := range votes {
		switch {
		case best == "" || count > votes[best]:
			best = name
		case count == votes[best] && best != in.Hint && (name == in.Hint || name < best):
			best = name
		}
	}
	return best
}

// runningPrimary is the peer that serves as primary. Of several, the one that the Sentinels or the hint name, then the one
// that most replicas follow, then the one with the newest data. One that is empty and a stranger to this node's data does not
// count while this node is the one that is named.
func (in Input) runningPrimary(word string) string {
	if word == "" {
		word = in.Hint
	}
	var primaries []candidate
	for _, p := range in.Peers {
		if (p.isPrimary() || in.yieldsTo(p)) && (word != in.Self.Name || !in.isEmptyStranger(p)) {
			primaries = append(primaries, p.candidate())
		}
	}
	best, some := newest(primaries)
	if !some {
		return ""
	}
	followers := in.followers()
	for _, c := range primaries {
		if c.name == word {
			return word
		}
		if followers[c.name] > followers[best.name] {
			best = c
		}
	}
	return best.name
}

// followers counts the running replicas by whom they follow.
func (in Input) followers() map[string]int {
	followers := map[string]int{}
	for _, p := range in.Peers {
		if p.Server != nil && p.Server.Role == topology.RoleReplica {
			followers[p.Server.Follows]++
		}
	}
	return followers
}

// replicasWord is whom most running replicas follow in the end: a replica of a replica speaks for the root of its chain.
func (in Input) replicasWord() string {
	votes := map[string]int{}
	for _, p := range in.Peers {
		if p.Server == nil || p.Server.Role != topology.RoleReplica {
			continue
		}
		if root := in.root(p); in.isMember(root) {
			votes[root]++
		}
	}
	return in.mostVotes(votes)
}

// root is where the chain of replicas that begins at p ends; empty when it is a circle.
func (in Input) root(p Peer) string {
	for range in.Peers {
		next, known := in.peer(p.Server.Follows)
		if !known || next.Server == nil || next.Server.Role != topology.RoleReplica {
			return p.Server.Follows
		}
		p = next
	}
	return ""
}

// refutesItself: the member is running as a replica of another member, and so is not the primary that it is said to be.
func (in Input) refutesItself(name string) bool {
	p, known := in.peer(name)
	return known && p.Server != nil && p.Server.Role == topology.RoleReplica && in.isMember(p.Server.Follows)
}

// isEmptyStranger: a primary without keys whose history has nothing to do with this node's data. To follow it would be to
// throw the data away; an empty primary that had the data once, and was flushed, is none.
func (in Input) isEmptyStranger(p Peer) bool {
	if !in.Self.HasData || p.hasData() || p.Server != nil && p.Server.Loading {
		return false
	}
	order := p.position().Compare(in.Self.Position)
	return order == Unrelated || order == Behind
}

// yieldsTo: both are about to become the primary, which each has told before doing it, and the other has the better claim.
func (in Input) yieldsTo(p Peer) bool {
	return in.Self.Intends && !p.running() && p.Agent != nil && p.Agent.Intends && p.candidate().better(in.Self.candidate())
}

// Newer is the visible member whose data is newer than the named one's: in the same line of histories, or because the named one
// is known to have none, or is not visible. False if there is none.
func (in Input) Newer(name string) (string, bool) {
	best, some := newest(in.withData())
	if !some || best.name == name {
		return "", false
	}
	if named, visible := in.candidateOf(name); visible && named.hasData && best.position.Compare(named.position) != Ahead {
		return "", false
	}
	return best.name, true
}
