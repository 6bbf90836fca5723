// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package topology

import (
	"cmp"
	"fmt"
	"slices"
)

// Verdict is whom the Sentinels together hold for the primary of a monitor.
type Verdict struct {
	// Address is the zero Address when no Sentinel that answered holds the monitor.
	Address Address
	// Member is the name of the member at the address; empty when it is none of the snapshot's.
	Member string
	// Epoch is the highest config-epoch, which Address was learnt with.
	Epoch int64
	// Votes counts the Sentinels that name Address; Answered those that answered at all; Total all in the snapshot.
	Votes, Answered, Total int
	// Agreed: every Sentinel that answered and holds the monitor names Address.
	Agreed bool
	// Missing names the Sentinels that answered and do not hold the monitor.
	Missing []string
}

// Majority tells whether more than half of all Sentinels, those that did not answer included, name the address.
func (v Verdict) Majority() bool { return v.Votes > v.Total/2 }

// SentinelPrimary is the primary of the monitor by the Sentinels' word. The highest config-epoch goes first, since it is
// what all others will adopt as soon as they hear of it (in a failover the last Sentinel switches a second after the
// first). Two addresses of one epoch come of a Sentinel that took the epoch over and not the address, which it could not
// resolve, or not yet: then the member that says it is primary goes first, of two such the one that was promoted from the
// other's history, then the most votes, and then the address, so that the result is stable.
func (s Snapshot) SentinelPrimary(monitor string) Verdict {
	verdict := Verdict{Total: len(s.Sentinels)}
	var opinions []opinion
	for _, sentinel := range s.Sentinels {
		if !sentinel.Reach.OK() {
			continue
		}
		verdict.Answered++
		view, holds := sentinel.Monitors[monitor]
		if !holds {
			verdict.Missing = append(verdict.Missing, sentinel.Name)
			continue
		}
		// Two addresses of one member (its name and its IP) are one opinion.
		i := slices.IndexFunc(opinions, func(o opinion) bool { return s.sameMember(o.address, view.Primary) })
		if i < 0 {
			opinions = append(opinions, opinion{address: view.Primary})
			i = len(opinions) - 1
		}
		opinions[i].epoch = max(opinions[i].epoch, view.ConfigEpoch)
		opinions[i].votes++
	}
	if len(opinions) == 0 {
		return verdict
	}
	best := slices.MaxFunc(opinions, func(a, b opinion) int {
		return cmp.Or(cmp.Compare(a.epoch, b.epoch), s.compareClaims(a.address, b.address), cmp.Compare(a.votes, b.votes),
			cmp.Compare(b.address.String(), a.address.String()))
	})
	member, _ := s.MemberAt(best.address)
	verdict.Address, verdict.Member, verdict.Epoch, verdict.Votes = best.address, member.Name, best.epoch, best.votes
	verdict.Agreed = len(opinions) == 1
	return verdict
}

// opinion is an address that Sentinels name.
type opinion struct {
	address Address
	epoch   int64
	votes   int
}

// compareClaims is above zero when the member at a has more right to be primary than the one at b, by what both say themselves.
func (s Snapshot) compareClaims(a, b Address) int {
	memberA, _ := s.MemberAt(a)
	memberB, _ := s.MemberAt(b)
	claim := map[bool]int{true: 1}
	return cmp.Or(
		claim[memberA.claims()]-claim[memberB.claims()],
		claim[memberA.Succeeds(memberB)]-claim[memberB.Succeeds(memberA)],
	)
}

func (s Snapshot) sameMember(a, b Address) bool {
	if a == b {
		return true
	}
	memberA, knownA := s.MemberAt(a)
	return knownA && memberA.Is(b)
}

// Quorum is what the Sentinels of a monitor could do now.
type Quorum struct {
	// OK: a failover could be agreed on and authorised.
	OK bool
	// Wanted is the configured quorum: the highest that any Sentinel holds.
	Wanted int
	// Available counts Sentinels that answered and hold the monitor for the agreed primary.
	Available int
	// Known counts the Sentinels that take part in a majority: the most that any Sentinel knows of, ghosts included.
	Known int
	// Message says why not, for people; empty when OK.
	Message string
}

// Quorum is computed from what can be seen, and believes no Sentinel that says OK while too few others answer.
func (s Snapshot) Quorum(monitor string) Quorum {
	verdict := s.SentinelPrimary(monitor)
	quorum := Quorum{Known: len(s.Sentinels)}
	refusal := ""
	for _, sentinel := range s.Sentinels {
		view, holds := sentinel.Monitors[monitor]
		if !sentinel.Reach.OK() || !holds {
			continue
		}
		quorum.Wanted = max(quorum.Wanted, view.Quorum)
		quorum.Known = max(quorum.Known, view.NumOtherSentinels+1)
		if !s.sameMember(view.Primary, verdict.Address) {
			continue
		}
		quorum.Available++
		if !view.QuorumOK && refusal == "" {
			refusal = sentinel.Name + ": " + view.QuorumMessage
		}
		quorum.OK = quorum.OK || view.QuorumOK
	}
	majority := quorum.Known/2 + 1
	switch {
	case quorum.Available == 0:
		quorum.Message = "no Sentinel that answers monitors it"
	case quorum.Available < quorum.Wanted:
		quorum.Message = fmt.Sprintf("%d of %d Sentinels available, quorum is %d", quorum.Available, quorum.Known, quorum.Wanted)
	case quorum.Available < majority:
		quorum.Message = fmt.Sprintf("%d of %d Sentinels available, %d must authorise a failover", quorum.Available, quorum.Known, majority)
	case !quorum.OK:
		quorum.Message = refusal
	}
	quorum.OK = quorum.OK && quorum.Message == ""
	return quorum
}

// FailoverInFlight tells whether the primary is being changed now, and who says so: a Sentinel that leads a failover of
// the monitor (only the leader knows), or a data member that hands over itself. With an empty monitor only members count.
func (s Snapshot) FailoverInFlight(monitor string) (by string, inFlight bool) {
	for _, sentinel := range s.Sentinels {
		if view := sentinel.Monitors[monitor]; monitor != "" && sentinel.Reach.OK() && view.FailoverInProgress {
			return sentinel.Name, true
		}
	}
	for _, m := range s.Members {
		if m.Answered() && m.FailoverState != "" && m.FailoverState != "no-failover" {
			return m.Name, true
		}
	}
	return "", false
}
