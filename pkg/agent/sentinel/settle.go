// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package sentinel

import (
	"cmp"
	"slices"

	"github.com/valkeykube/valkeykube/pkg/agent/decision"
	"github.com/valkeykube/valkeykube/pkg/boot"
	"github.com/valkeykube/valkeykube/pkg/topology"
)

// memory is what Sentinels remember: this one, by its file, and its peers.
type memory struct {
	own state
	// running are the peers that run, starting those that only read their files yet.
	running, starting []state
}

// settled is whom to monitor.
type settled struct {
	primary     topology.Address
	configEpoch int64
	leaderEpoch int64
	// source is for people.
	source string
	// known: the Sentinels remember it. Otherwise it is a conclusion, on which all of them must agree.
	known bool
}

// remembered is the primary that the Sentinels know of: by the latest failover that any remembers, else as those that run
// have it. False in a cold start: nobody runs, and nobody remembers a failover.
func (m memory) remembered(name string) (settled, bool) {
	epoch := m.own.monitors[name].configEpoch
	all := append(append([]state{m.own}, m.running...), m.starting...)
	for _, s := range all {
		epoch = max(epoch, s.monitors[name].configEpoch)
	}
	if epoch > 0 {
		return settled{
			known: true, primary: majority(all, name, epoch), configEpoch: epoch, source: "the latest failover that the Sentinels remember",
		}, true
	}
	if primary := majority(m.running, name, 0); !primary.IsZero() {
		return settled{known: true, primary: primary, source: "the peers that run"}, true
	}
	return settled{}, false
}

// majority is whom most of the states with the epoch name. Of equal counts the first in the order of addresses.
func majority(states []state, name string, epoch int64) topology.Address {
	votes := map[topology.Address]int{}
	for _, s := range states {
		if m, known := s.monitors[name]; known && m.configEpoch == epoch && !m.primary.IsZero() {
			votes[m.primary]++
		}
	}
	var best topology.Address
	addresses := make([]topology.Address, 0, len(votes))
	for address := range votes {
		addresses = append(addresses, address)
	}
	slices.SortFunc(addresses, func(a, b topology.Address) int { return cmp.Compare(a.String(), b.String()) })
	for _, address := range addresses {
		if votes[address] > votes[best] {
			best = address
		}
	}
	return best
}

// agree makes of what each Sentinel sees itself what all of them will monitor, in a cold start. Everybody who has proposed is
// heard; then the first in the order of names decides, and who has settled is followed. False while somebody who is there has not
// spoken, unless patience is over.
func agree(self state, peers []state, proposals map[string]settled, patience bool) (map[string]settled, bool) {
	all := append([]state{self}, peers...)
	slices.SortFunc(all, func(a, b state) int { return cmp.Compare(a.name, b.name) })
	agreed := map[string]settled{}
	for name, s := range proposals {
		if !s.known {
			primary, ok := agreedOn(all, name, patience)
			if !ok {
				return nil, false
			}
			if primary != s.primary {
				s.primary, s.source = primary, "the Sentinels agree"
			}
		}
		agreed[name] = s
	}
	return agreed, true
}

func agreedOn(all []state, name string, patience bool) (topology.Address, bool) {
	var first topology.Address
	everybody := true
	for _, s := range all {
		if primary, settled := s.settled[name]; settled {
			return primary, true
		}
		proposed, spoke := s.proposed[name]
		if everybody = everybody && spoke; spoke && first.IsZero() {
			first = proposed
		}
	}
	return first, !first.IsZero() && (everybody || !patience)
}

// currentEpoch is the latest that anybody knows of.
func (m memory) currentEpoch() int64 {
	epoch := m.own.currentEpoch
	for _, s := range append(append([]state{m.own}, m.running...), m.starting...) {
		epoch = max(epoch, s.currentEpoch)
		for _, monitor := range s.monitors {
			epoch = max(epoch, monitor.configEpoch)
		}
	}
	return epoch
}

// leaderEpoch is the last epoch in which this Sentinel may have voted. One that lost its memory takes it that it voted in the
// present one: to vote twice in an election could make two leaders.
func (m memory) leaderEpoch(name, myID string) int64 {
	if m.own.myID == myID {
		return m.own.monitors[name].leaderEpoch
	}
	return m.currentEpoch()
}

// fromMembers is the primary by what the members say, for a cold start: one that serves, else whom the running replicas follow,
// else the controller's word, unless another member has newer data than that one. complete tells that nobody is missing who
// might say otherwise.
func fromMembers(monitor boot.Monitor, peers []decision.Peer) (primary topology.Address, source string, complete bool) {
	told := topology.Address{Host: monitor.Host, Port: monitor.Port}
	in := decision.Input{Mode: decision.ModeNone, Peers: peers, Hint: nameAt(monitor.Members, told)}
	name, from := in.Named()
	switch from {
	case decision.SourceRunning:
		return addressOf(monitor.Members, name), string(from), true
	case decision.SourceReplicas:
		return addressOf(monitor.Members, name), string(from), false
	default:
	}
	complete = !slices.ContainsFunc(peers, func(p decision.Peer) bool { return p.Server == nil && p.Agent == nil })
	if newer, some := in.Newer(in.Hint); some {
		return addressOf(monitor.Members, newer), "the member with the newest data", complete
	}
	return told, "the controller's word", complete
}

func nameAt(members []boot.Endpoint, address topology.Address) string {
	for _, member := range members {
		if member.Host == address.Host && member.Port == address.Port {
			return member.Name
		}
	}
	return ""
}

func addressOf(members []boot.Endpoint, name string) topology.Address {
	for _, member := range members {
		if member.Name == name {
			return topology.Address{Host: member.Host, Port: member.Port}
		}
	}
	return topology.Address{}
}
