// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package fence

import (
	"fmt"
	"time"

	"github.com/valkeykube/valkeykube/pkg/topology"
)

const (
	// Patience is how long the authority may leave a primary without replicas unanswered before writes are refused: one answer that comes
	// late must not refuse any.
	Patience = time.Second
	// ContactWithin is how long ago the controller may have asked the server for something to count as reachable. While anything is amiss it
	// asks every second, else every two or three. That it does is seen at the own server, and needs no patience.
	ContactWithin = 4 * time.Second
	// Settling is how long a node that was just promoted may be without replicas and without most of the Sentinels' word: those hear of it one
	// after the other.
	Settling = 10 * time.Second
)

// Authority is who would make another node the primary.
type Authority string

// The authorities.
const (
	Nobody     Authority = ""
	Sentinels  Authority = "Sentinels"
	Controller Authority = "Controller"
)

// Look is what is seen at one time. Its zero value gives no reason to refuse anything.
type Look struct {
	// Primary: the own server answers and says that it is primary.
	Primary bool
	// Alone: the set has no other member.
	Alone bool
	// Acknowledged: a replica has acknowledged lately.
	Acknowledged bool
	// Asked: the authority was asked in this look. It need not be while a replica acknowledges.
	Asked     bool
	Authority Authority
	Sentinels []Sentinel
	// Contact is how long ago the controller was heard of; negative: not at all. Successor is a member that was promoted from this node's
	// data; empty: none can be seen.
	Contact   time.Duration
	Successor string
	// At is when the look was begun.
	At time.Time
}

// Sentinel is what one Sentinel says of the own monitor.
type Sentinel struct {
	// Reached: it answered, be it with a refusal.
	Reached bool
	// Names: it holds this node for the primary. Down: and for down, or is replacing it. Another: it names somebody else. A Sentinel
	// that does not hold the monitor says none of these.
	Names, Down, Another bool
	Epoch                int64
}

// State is what the looks before have left. Its zero value is that of a new set.
type State struct {
	// Joined: the server has been part of a set. The primary of a new set serves before its first replica is there.
	Joined bool
	// Promoted is when the server, which was a replica, was first seen to be the primary; zero once somebody has confirmed that, or a replica
	// has acknowledged.
	Promoted time.Time
	// replica: it was one when it was last looked at. epoch is the highest that is known to be no later than its own promotion.
	replica bool
	epoch   int64
	// Closed: writes are to be refused, since Since, because of Reason.
	Closed bool
	Since  time.Time
	Reason string
	// unconfirmed is since when nobody has confirmed the primary; zero while somebody does. looks counts the looks since.
	unconfirmed time.Time
	looks       int
}

// MustAsk tells whether the authority has to be asked before Next.
func MustAsk(look Look) bool {
	return look.Primary && !look.Alone && !look.Acknowledged && look.Authority != Nobody
}

// Next is the state after a look.
func (s State) Next(look Look) State {
	if look.Primary && s.replica {
		s = State{Joined: true, Promoted: look.At}
	}
	switch {
	case !look.Primary:
		return State{Joined: true, replica: true}
	case look.Alone, look.Authority == Nobody:
		return State{Joined: s.Joined, Promoted: s.Promoted, epoch: s.epoch}
	case look.Acknowledged:
		return State{Joined: true, epoch: s.epoch}
	case !look.Asked:
		return s
	}
	return s.asked(look)
}

// asked is the state after the authority was asked.
func (s State) asked(look Look) State {
	isSettling := !s.Promoted.IsZero() && look.At.Sub(s.Promoted) < Settling
	open := State{Joined: s.Joined, Promoted: s.Promoted, epoch: max(s.epoch, look.epochs(isSettling))}
	standing, text := judge(look, s.epoch)
	switch {
	case standing == confirmed:
		return State{Joined: true, epoch: open.epoch}
	case isSettling:
		return open
	case standing == contradicted:
		return s.closed(look.At, text)
	case !s.Joined:
		return open
	}
	if s.unconfirmed.IsZero() {
		s.unconfirmed, s.looks = look.At, 0
	}
	s.looks++
	if look.Authority == Controller || s.looks > 1 && look.At.Sub(s.unconfirmed) >= Patience {
		return s.closed(look.At, text)
	}
	return s
}

// epochs is the highest with which a Sentinel names this node or, where all are asked, anybody.
func (l Look) epochs(all bool) int64 {
	highest := int64(0)
	for _, s := range l.Sentinels {
		if s.Names || all {
			highest = max(highest, s.Epoch)
		}
	}
	return highest
}

func (s State) closed(at time.Time, reason string) State {
	if !s.Closed {
		s.Closed, s.Since = true, at
	}
	s.Reason, s.Joined = reason, true
	return s
}

type standing int

const (
	// unconfirmed: the authority cannot be asked, or holds this node for down.
	unconfirmed standing = iota
	confirmed
	// contradicted: another node is the primary.
	contradicted
)

func judge(look Look, epoch int64) (standing, string) {
	if look.Authority == Controller {
		if look.Successor != "" {
			return contradicted, look.Successor + " was promoted"
		}
		if look.Contact >= 0 && look.Contact <= ContactWithin {
			return confirmed, ""
		}
		return unconfirmed, "no replica acknowledges, and the controller, which may have promoted another node, asks nothing any more"
	}
	return judgeSentinels(look.Sentinels, epoch)
}

// judgeSentinels: a majority that can be reached and does not hold this node for down elects nobody else. One that does not hold the monitor,
// or refuses the login, does not object: only silence is what a partition looks like. One that names another with an epoch that is no later
// than the own promotion has only not heard of that.
func judgeSentinels(sentinels []Sentinel, epoch int64) (standing, string) {
	agree, own, other := 0, epoch, int64(-1)
	for _, s := range sentinels {
		switch {
		case !s.Reached:
		case s.Another:
			other = max(other, s.Epoch)
		case !s.Down:
			agree++
		}
		if s.Names {
			own = max(own, s.Epoch)
		}
	}
	switch {
	case other > own:
		return contradicted, "the Sentinels have made another node the primary"
	case 2*agree > len(sentinels):
		return confirmed, ""
	}
	return unconfirmed, fmt.Sprintf("no replica acknowledges, and only %d of %d Sentinels confirm that this node is the primary", agree, len(sentinels))
}

// Acknowledged tells whether a replica has acknowledged within the time.
func Acknowledged(m topology.Member, within time.Duration) bool {
	for _, replica := range m.Connected {
		if replica.Online && replica.Lag >= 0 && replica.Lag < within {
			return true
		}
	}
	return false
}
