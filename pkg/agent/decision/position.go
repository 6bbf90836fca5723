// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package decision

import (
	"slices"
	"time"
)

// Position is where a copy of the dataset stands.
type Position struct {
	// ReplID names the history that the copy belongs to; each promotion begins a new one. Empty: not known.
	ReplID string `json:"replID,omitempty"`
	// Offset is how far into the history, in bytes of the replication stream.
	Offset int64 `json:"offset,omitempty"`
	// History is the histories that this copy has moved on from, oldest first.
	History []string `json:"history,omitempty"`
	// Whole: this copy was that of the history's primary and is complete. No replica has more of the history then, whatever
	// the offsets say, which are those of some moment ago.
	Whole bool `json:"whole,omitempty"`
	// When this was last seen to be true of a server that was primary, or linked to one.
	When time.Time `json:"when,omitzero"`
}

// Order is how one position relates to another.
type Order int

// The orders. Unrelated: nothing can be said about the data.
const (
	Unrelated Order = iota
	Same
	Ahead
	Behind
)

// Compare tells where p stands, seen from other. Offsets compare within one history only. Across histories the one that
// has moved on from the other's is ahead, whatever the offsets: what the other has beyond the branch was written to a
// primary that had been replaced.
func (p Position) Compare(other Position) Order {
	if p.ReplID == "" || other.ReplID == "" {
		return Unrelated
	}
	if p.ReplID == other.ReplID {
		switch {
		case p.Whole != other.Whole && p.Whole:
			return Ahead
		case p.Whole != other.Whole:
			return Behind
		case p.Offset > other.Offset:
			return Ahead
		case p.Offset < other.Offset:
			return Behind
		}
		return Same
	}
	left, wasLeft := slices.Contains(p.History, other.ReplID), slices.Contains(other.History, p.ReplID)
	switch {
	case left && !wasLeft:
		return Ahead
	case wasLeft && !left:
		return Behind
	}
	return Unrelated
}

// maxHistory bounds the memory of histories. Each is a promotion.
const maxHistory = 64

// MovedTo is the position after the copy has come to belong to a history. earlier are further histories that this one is
// known to have come from, oldest first.
func (p Position) MovedTo(replID string, offset int64, when time.Time, earlier ...string) Position {
	var history []string
	for _, id := range append(append(slices.Clone(p.History), earlier...), p.ReplID) {
		if id != "" && id != replID && !slices.Contains(history, id) {
			history = append(history, id)
		}
	}
	if len(history) > maxHistory {
		history = history[len(history)-maxHistory:]
	}
	return Position{ReplID: replID, Offset: offset, History: history, When: when}
}

// candidate is a copy that might become the primary's.
type candidate struct {
	name       string
	index      int
	position   Position
	hasData    bool
	wasPrimary bool
}

// better is an answer for any two candidates, the same for everyone who knows the same.
func (c candidate) better(than candidate) bool {
	if c.hasData != than.hasData {
		return c.hasData
	}
	switch c.position.Compare(than.position) {
	case Ahead:
		return true
	case Behind:
		return false
	case Unrelated:
		if !c.position.When.Equal(than.position.When) {
			return c.position.When.After(than.position.When)
		}
	case Same:
	}
	if c.wasPrimary != than.wasPrimary {
		return c.wasPrimary
	}
	return c.index < than.index
}

// newest is the best of the candidates, and whether there is one.
func newest(candidates []candidate) (candidate, bool) {
	if len(candidates) == 0 {
		return candidate{}, false
	}
	// Seen in one order by all, since histories that are unrelated need not be transitive.
	slices.SortFunc(candidates, func(a, b candidate) int { return a.index - b.index })
	best := candidates[0]
	for _, c := range candidates[1:] {
		if c.better(best) {
			best = c
		}
	}
	return best, true
}
