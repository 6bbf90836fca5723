// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package topology

import (
	"fmt"
	"slices"
	"strings"
)

// DisputeKind is a way in which what is seen does not fit together.
type DisputeKind string

// The kinds.
const (
	// DisputeTwoPrimaries: more than one member says that it is primary.
	DisputeTwoPrimaries DisputeKind = "TwoPrimaries"
	// DisputeSentinels: Sentinels name different primaries.
	DisputeSentinels DisputeKind = "SentinelsDisagree"
	// DisputeRole: the Sentinels name a member that says it is a replica, or another than the only primary.
	DisputeRole DisputeKind = "SentinelsNameAnother"
	// DisputeStranger: the Sentinels name an address that is no member's.
	DisputeStranger DisputeKind = "SentinelsNameStranger"
	// DisputeCycle: replicas follow each other in a circle.
	DisputeCycle DisputeKind = "Cycle"
)

// Dispute is one thing that does not fit, and whom it is about.
type Dispute struct {
	Kind    DisputeKind
	Members []string
	// Text is for people.
	Text string
}

// Primary is who is primary by all that is seen.
type Primary struct {
	// Name is the member that says it is primary and is believed. Empty: there is none that is certain.
	Name string
	// Presumed is set when Name is not: the member that does not answer and that the Sentinels, or else all replicas that
	// answer, hold for the primary. It may well be primary.
	Presumed string
	// Disputes, in a stable order. While there are any, nothing disruptive should be done but to settle them.
	Disputes []Dispute
}

// Primary decides who is primary of the set; monitor is empty for a set without Sentinels. A member is believed when it is
// the only one that says so. Of several, the one that the Sentinels name is; without Sentinels the one that more linked
// replicas follow; and an empty one never against one that holds data.
func (s Snapshot) Primary(monitor string) Primary {
	var result Primary
	verdict := Verdict{}
	if monitor != "" {
		verdict = s.SentinelPrimary(monitor)
		result.Disputes = s.sentinelDisputes(monitor, verdict)
	}
	claimants := s.claimants()
	switch {
	case len(claimants) == 0:
		result.Presumed = s.presumed(verdict)
	case len(claimants) == 1:
		result.Name = claimants[0].Name
	default:
		result.Name = s.believed(claimants, verdict)
		result.Disputes = append(result.Disputes, twoPrimaries(claimants))
	}
	if dispute, disputed := roleDispute(s, result, verdict); disputed {
		result.Disputes = append(result.Disputes, dispute)
	}
	if cycle := s.cycle(); len(cycle) > 0 {
		result.Disputes = append(result.Disputes, Dispute{
			Kind: DisputeCycle, Members: cycle, Text: "replicas follow each other in a circle: " + strings.Join(cycle, ", "),
		})
	}
	return result
}

func (s Snapshot) claimants() []Member {
	var claimants []Member
	for _, m := range s.Members {
		if m.claims() {
			claimants = append(claimants, m)
		}
	}
	return claimants
}

// believed picks one of several claimants, or nobody.
func (s Snapshot) believed(claimants []Member, verdict Verdict) string {
	named := slices.IndexFunc(claimants, func(m Member) bool { return m.Name == verdict.Member })
	if named >= 0 {
		return claimants[named].Name
	}
	best, most, tied := "", -1, false
	for _, claimant := range claimants {
		if claimant.isEmpty() && slices.ContainsFunc(claimants, Member.HasData) {
			continue
		}
		followers := 0
		for _, m := range s.Members {
			if m.syncedTo(claimant) {
				followers++
			}
		}
		if followers > most {
			best, most, tied = claimant.Name, followers, false
		} else if followers == most {
			tied = true
		}
	}
	if tied {
		return ""
	}
	return best
}

// presumed is the member that does not answer and is held for the primary.
func (s Snapshot) presumed(verdict Verdict) string {
	candidate, known := s.Member(verdict.Member)
	if !known && verdict.Address.IsZero() {
		candidate, known = s.followedByAll()
	}
	if known && !candidate.Answered() {
		return candidate.Name
	}
	return ""
}

// followedByAll is the one member that every replica that answers follows.
func (s Snapshot) followedByAll() (Member, bool) {
	var followed Member
	found := false
	for _, m := range s.Members {
		if !m.Answered() || m.Role != RoleReplica {
			continue
		}
		primary, known := s.MemberAt(m.Primary)
		if !known || found && primary.Name != followed.Name {
			return Member{}, false
		}
		followed, found = primary, true
	}
	return followed, found
}

func twoPrimaries(claimants []Member) Dispute {
	names := make([]string, 0, len(claimants))
	for _, m := range claimants {
		names = append(names, m.Name)
	}
	return Dispute{Kind: DisputeTwoPrimaries, Members: names, Text: "more than one primary: " + strings.Join(names, ", ")}
}

func (s Snapshot) sentinelDisputes(monitor string, verdict Verdict) []Dispute {
	var disputes []Dispute
	if !verdict.Address.IsZero() && verdict.Member == "" {
		disputes = append(disputes, Dispute{
			Kind: DisputeStranger, Text: fmt.Sprintf("the Sentinels name %s, which is no member", verdict.Address),
		})
	}
	if verdict.Address.IsZero() || verdict.Agreed {
		return disputes
	}
	var names, opinions []string
	for _, sentinel := range s.Sentinels {
		if view, holds := sentinel.Monitors[monitor]; sentinel.Reach.OK() && holds {
			names = append(names, sentinel.Name)
			opinions = append(opinions, sentinel.Name+" names "+s.nameAt(view.Primary))
		}
	}
	return append(disputes, Dispute{
		Kind: DisputeSentinels, Members: names, Text: "the Sentinels disagree: " + strings.Join(opinions, ", "),
	})
}

// roleDispute: the member that the Sentinels name answered, and is not the one that is believed.
func roleDispute(s Snapshot, primary Primary, verdict Verdict) (Dispute, bool) {
	named, known := s.Member(verdict.Member)
	switch {
	case !known || primary.Name == named.Name:
		return Dispute{}, false
	case primary.Name != "":
		text := fmt.Sprintf("the Sentinels name %s, but %s is primary", named.Name, primary.Name)
		return Dispute{Kind: DisputeRole, Members: []string{named.Name, primary.Name}, Text: text}, true
	case named.Answered() && named.Role == RoleReplica:
		text := fmt.Sprintf("the Sentinels name %s, but it is a replica", named.Name)
		return Dispute{Kind: DisputeRole, Members: []string{named.Name}, Text: text}, true
	}
	return Dispute{}, false
}

// cycle is the members of a circle of replicas, in order, beginning with the one that stands first in the snapshot.
func (s Snapshot) cycle() []string {
	for _, start := range s.Members {
		path := []string{}
		for m, known := start, true; known && m.Answered() && m.Role == RoleReplica; m, known = s.MemberAt(m.Primary) {
			if at := slices.Index(path, m.Name); at >= 0 {
				return path[at:]
			}
			path = append(path, m.Name)
		}
	}
	return nil
}
