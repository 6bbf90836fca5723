// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package topology

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// SyncedReplicas is the members that follow the named primary with a complete copy and a working link, and that the
// primary, if it answers, sees as such too. In the snapshot's order.
func (s Snapshot) SyncedReplicas(primary string) []Member {
	leader, known := s.Member(primary)
	if !known {
		return nil
	}
	var synced []Member
	for _, m := range s.Members {
		if m.Name != primary && m.syncedTo(leader) && s.seenOnline(leader, m) {
			synced = append(synced, m)
		}
	}
	return synced
}

// seenOnline tells whether the primary has the replica connected and sending acknowledgements. A primary that does not
// answer says nothing against it.
func (s Snapshot) seenOnline(primary, replica Member) bool {
	return !primary.Answered() || slices.ContainsFunc(primary.Connected, func(c ConnectedReplica) bool {
		return c.Online && replica.Is(c.Address)
	})
}

// Refusal is why a member may not become primary now.
type Refusal string

// The refusals. The text after the colon that CanFailover adds is for people.
const (
	RefusedUnknown     Refusal = "NotAMember"
	RefusedIsPrimary   Refusal = "IsPrimary"
	RefusedUnreachable Refusal = "Unreachable"
	RefusedLoading     Refusal = "Loading"
	RefusedNotSynced   Refusal = "NotSynced"
	RefusedPriority    Refusal = "NeverPromoted"
	RefusedEmpty       Refusal = "EmptyWhilePeersHoldData"
)

// CanFailover tells whether the named member could take over from the named primary without losing anything: it answers,
// is a synced replica of it, may be promoted, and is not empty while a peer that answers holds data. The refusal is empty
// when it can; text explains it.
func (s Snapshot) CanFailover(primary, to string) (refusal Refusal, text string) {
	m, known := s.Member(to)
	leader, leaderKnown := s.Member(primary)
	switch {
	case !known:
		return RefusedUnknown, fmt.Sprintf("%q is no member", to)
	case to == primary:
		return RefusedIsPrimary, to + " is the primary already"
	case m.Reach.Class == ReachLoading || m.Reach.OK() && m.Loading:
		return RefusedLoading, to + " is loading its dataset"
	case !m.Reach.OK():
		return RefusedUnreachable, fmt.Sprintf("%s does not answer: %s", to, m.Reach.Class)
	case m.Priority == 0:
		return RefusedPriority, to + " has replica-priority 0 and is never promoted"
	}
	if !leaderKnown || !m.syncedTo(leader) {
		return RefusedNotSynced, fmt.Sprintf("%s is not a synced replica of %s", to, primary)
	}
	if !s.seenOnline(leader, m) {
		return RefusedNotSynced, fmt.Sprintf("%s does not see %s as online", primary, to)
	}
	if holders := s.dataThatLacks(m); m.isEmpty() && len(holders) > 0 {
		return RefusedEmpty, fmt.Sprintf("%s is empty while %s holds data", to, strings.Join(holders, ", "))
	}
	return "", ""
}

// dataThatLacks names the members that answer and hold data that m is not known to have.
func (s Snapshot) dataThatLacks(m Member) []string {
	var holders []string
	for _, peer := range s.Members {
		if peer.Name != m.Name && peer.HasData() && (m.isEmpty() || compareHistory(m, peer) < same) {
			holders = append(holders, peer.Name)
		}
	}
	return holders
}

// Losing names the members that answer and hold something that the named member is not known to have: it would be lost if
// they followed it.
func (s Snapshot) Losing(name string) []string {
	m, known := s.Member(name)
	if !known {
		return nil
	}
	return s.dataThatLacks(m)
}

// Candidate is the best member to promote when the primary is gone.
type Candidate struct {
	Member Member
	// Losing names members that answer and hold something that the candidate lacks: their histories have parted, and
	// whoever is promoted, something is lost. Empty is the normal case.
	Losing []string
	// Text says why it was chosen, with the offsets, for people.
	Text string
}

// BestReplica is the member to promote if the named primary (empty: nobody) is gone for good: of those that answer, have
// finished loading, and may be promoted, the one that lacks the least: never an empty one while any that answers holds
// data; then the newest history, or where these have parted the one that was linked; then the lowest replica-priority; then the
// first in the snapshot. False when there is none. It says nothing of members that do not answer: they may hold more.
func (s Snapshot) BestReplica(primary string) (Candidate, bool) {
	var candidates []Member
	for _, m := range s.Members {
		// A copy that is being received is nobody's dataset yet.
		if m.Name != primary && m.Reach.OK() && !m.Loading && !m.Syncing && m.Priority != 0 {
			candidates = append(candidates, m)
		}
	}
	if slices.ContainsFunc(s.Members, Member.HasData) {
		candidates = slices.DeleteFunc(candidates, Member.isEmpty)
	}
	if len(candidates) == 0 {
		return Candidate{}, false
	}
	best := candidates[0]
	for _, m := range candidates[1:] {
		if betterThan(m, best) {
			best = m
		}
	}
	var offsets []string
	for _, m := range candidates {
		offsets = append(offsets, fmt.Sprintf("%s %d", m.Name, m.Offset))
	}
	losing := slices.DeleteFunc(s.dataThatLacks(best), func(name string) bool { return name == primary })
	return Candidate{Member: best, Losing: losing, Text: fmt.Sprintf("%s has the best offset (%s)", best.Name, strings.Join(offsets, ", "))}, true
}

func betterThan(a, b Member) bool {
	switch compareHistory(a, b) {
	case newer:
		return true
	case older:
		return false
	case same:
		return a.Priority < b.Priority
	}
	// What was linked to the lost primary has what that wrote last. One that never was since its start may be any old copy.
	if a.Role == RoleReplica && b.Role == RoleReplica && a.wasLinked() != b.wasLinked() {
		return a.wasLinked()
	}
	// The histories have parted: more keys, then the later offset, is a guess, and Candidate.Losing says so.
	return cmp.Or(cmp.Compare(a.Keys, b.Keys), cmp.Compare(a.Offset, b.Offset)) > 0
}

// OrphanKind is a way not to belong to the primary.
type OrphanKind string

// The kinds.
const (
	// OrphanExtraPrimary says that it is primary and is not the one.
	OrphanExtraPrimary OrphanKind = "ExtraPrimary"
	// OrphanStranger follows an address that is no member's.
	OrphanStranger OrphanKind = "FollowsStranger"
	// OrphanReplica follows a member that is not the primary.
	OrphanReplica OrphanKind = "FollowsAnother"
)

// Orphan is a member that answers and does not follow the primary.
type Orphan struct {
	Name    string
	Kind    OrphanKind
	Follows Address
	// HoldsMore: it holds data that the primary is not known to have; following the primary would destroy it.
	HoldsMore bool
}

// Orphans is the members that should follow the named primary and do not. Without a primary there are none: nobody knows
// whom they should follow.
func (s Snapshot) Orphans(primary string) []Orphan {
	leader, known := s.Member(primary)
	if !known {
		return nil
	}
	var orphans []Orphan
	for _, m := range s.Members {
		if m.Name == primary || !m.Answered() || m.follows(leader) {
			continue
		}
		orphan := Orphan{Name: m.Name, Kind: OrphanExtraPrimary, Follows: m.Primary}
		if m.Role == RoleReplica {
			orphan.Kind = OrphanStranger
			if _, isMember := s.MemberAt(m.Primary); isMember {
				orphan.Kind = OrphanReplica
			}
		}
		orphan.HoldsMore = slices.Contains(s.dataThatLacks(leader), m.Name)
		orphans = append(orphans, orphan)
	}
	return orphans
}

// Risk is an empty primary beside members that hold data: whoever resyncs to it loses everything.
type Risk struct {
	Primary string
	// Holders hold data, answer, and do not share the primary's history.
	Holders []string
	Text    string
}

// DataAtRisk tells whether a member that says it is primary, or that the Sentinels of the monitor hold for it, is empty
// while others that answer hold data of another history. A primary that was emptied on purpose shares the history of its
// replicas, which follow within milliseconds, and is no risk.
func (s Snapshot) DataAtRisk(monitor string) (Risk, bool) {
	named := ""
	if monitor != "" {
		named = s.SentinelPrimary(monitor).Member
	}
	for _, m := range s.Members {
		if m.Role != RolePrimary && m.Name != named || !m.isEmpty() {
			continue
		}
		var holders []string
		for _, peer := range s.Members {
			if peer.Name != m.Name && peer.HasData() && (peer.ReplID == "" || peer.ReplID != m.ReplID) {
				holders = append(holders, peer.Name)
			}
		}
		if len(holders) > 0 {
			text := fmt.Sprintf("%s is primary and empty, while %s holds data", m.Name, strings.Join(holders, ", "))
			return Risk{Primary: m.Name, Holders: holders, Text: text}, true
		}
	}
	return Risk{}, false
}
