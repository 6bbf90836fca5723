// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package topology_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/valkeykube/valkeykube/pkg/topology"
)

const monitor = "main"

func address(name string) topology.Address {
	return topology.Address{Host: name + ".example.svc", Port: 6379}
}

// primary answers, has 10 keys and the given replicas online.
func primary(name string, replicas ...string) topology.Member {
	m := topology.Member{
		Name: name, Address: address(name), Reach: topology.Reach{Class: topology.ReachOK}, Role: topology.RolePrimary, Offset: 1000,
		ReplID: "h1", SecondOffset: -1, Priority: 100, Keys: 10, FailoverState: "no-failover",
	}
	for _, replica := range replicas {
		m.Connected = append(m.Connected, topology.ConnectedReplica{Address: address(replica), Online: true, Offset: 1000})
	}
	return m
}

// replica answers and is synced to the primary.
func replica(name, of string) topology.Member {
	m := primary(name)
	m.Role, m.Primary, m.LinkUp = topology.RoleReplica, address(of), true
	return m
}

func gone(name string) topology.Member {
	return topology.Member{Name: name, Address: address(name), Reach: topology.Reach{Class: topology.ReachTimeout}}
}

func empty(m topology.Member, replID string) topology.Member {
	m.Keys, m.Offset, m.ReplID = 0, 0, replID
	return m
}

func with(m topology.Member, change func(*topology.Member)) topology.Member {
	change(&m)
	return m
}

// sentinel answers and names the primary.
func sentinel(name, names string, epoch int64) topology.SentinelView {
	return topology.SentinelView{
		Name: name, Reach: topology.Reach{Class: topology.ReachOK},
		Monitors: map[string]topology.MonitorView{monitor: {
			Primary: address(names), ConfigEpoch: epoch, Quorum: 2, NumOtherSentinels: 2, QuorumOK: true, QuorumUsable: 3,
		}},
	}
}

func deadSentinel(name string) topology.SentinelView {
	return topology.SentinelView{Name: name, Reach: topology.Reach{Class: topology.ReachUnreachable}}
}

func without(name string) topology.SentinelView {
	return topology.SentinelView{Name: name, Reach: topology.Reach{Class: topology.ReachOK}, Monitors: map[string]topology.MonitorView{}}
}

func sentinelsNaming(names ...string) []topology.SentinelView {
	var views []topology.SentinelView
	for i, name := range names {
		views = append(views, sentinel(fmt.Sprintf("s%d", i), name, 1))
	}
	return views
}

func healthy() topology.Snapshot {
	return topology.Snapshot{
		Members:   []topology.Member{primary("a", "b", "c"), replica("b", "a"), replica("c", "a")},
		Sentinels: sentinelsNaming("a", "a", "a"),
	}
}

func TestMembersAreFoundByAnyOfTheirAddresses(t *testing.T) {
	m := primary("a")
	m.Aliases = []string{"10.0.0.1", "a", "fd00::1"}
	s := topology.Snapshot{Members: []topology.Member{primary("b"), m}}
	for _, host := range []string{"a.example.svc", "A.Example.SVC.", "10.0.0.1", "a", "fd00::1"} {
		if got, known := s.MemberAt(topology.Address{Host: host, Port: 6379}); !known || got.Name != "a" {
			t.Errorf("%s is %q", host, got.Name)
		}
	}
	for _, stranger := range []topology.Address{{}, {Host: "a", Port: 6380}, {Host: "", Port: 6379}, {Host: "10.0.0.2", Port: 6379}, {Host: ".", Port: 6379}} {
		if got, known := s.MemberAt(stranger); known {
			t.Errorf("%v is %q", stranger, got.Name)
		}
	}
	if got := (topology.Address{Host: "fd00::1", Port: 1}).String(); got != "[fd00::1]:1" {
		t.Error(got)
	}
}

func TestPrimary(t *testing.T) {
	for name, c := range map[string]struct {
		members      []topology.Member
		sentinels    []topology.SentinelView
		want         string
		wantPresumed string
		wantDisputes []topology.DisputeKind
	}{
		"healthy":               {members: healthy().Members, sentinels: healthy().Sentinels, want: "a"},
		"healthy, no Sentinels": {members: healthy().Members, want: "a"},
		"nobody":                {},
		"all unreachable":       {members: []topology.Member{gone("a"), gone("b")}, sentinels: []topology.SentinelView{deadSentinel("s0")}},
		"primary unreachable, Sentinels name it": {
			members: []topology.Member{gone("a"), replica("b", "a"), replica("c", "a")}, sentinels: sentinelsNaming("a", "a", "a"), wantPresumed: "a",
		},
		"primary unreachable, replicas follow it": {members: []topology.Member{gone("a"), replica("b", "a"), replica("c", "a")}, wantPresumed: "a"},
		"primary unreachable, replicas follow different ones": {
			members: []topology.Member{gone("a"), replica("b", "a"), replica("c", "d"), gone("d")},
		},
		"loading primary is one": {
			members: []topology.Member{with(primary("a"), func(m *topology.Member) { m.Reach.Class, m.Loading = topology.ReachLoading, true }), replica("b", "a")},
			want:    "a",
		},
		"split brain: Sentinels decide": {
			members: []topology.Member{primary("a"), primary("b", "c"), replica("c", "b")}, sentinels: sentinelsNaming("a", "a", "a"),
			want: "a", wantDisputes: []topology.DisputeKind{topology.DisputeTwoPrimaries},
		},
		"split brain: followers decide": {
			members: []topology.Member{primary("a"), primary("b", "c"), replica("c", "b")},
			want:    "b", wantDisputes: []topology.DisputeKind{topology.DisputeTwoPrimaries},
		},
		"split brain: nobody can tell": {
			members: []topology.Member{primary("a"), primary("b")}, wantDisputes: []topology.DisputeKind{topology.DisputeTwoPrimaries},
		},
		"split brain: an empty one never wins, even with more followers": {
			members: []topology.Member{empty(primary("a", "c"), "h2"), primary("b"), empty(replica("c", "a"), "h2")},
			want:    "b", wantDisputes: []topology.DisputeKind{topology.DisputeTwoPrimaries},
		},
		"the switch has reached one Sentinel": {
			members:   []topology.Member{replica("a", "b"), primary("b", "a")},
			sentinels: []topology.SentinelView{sentinel("s0", "b", 2), sentinel("s1", "a", 1), sentinel("s2", "a", 1)},
			want:      "b", wantDisputes: []topology.DisputeKind{topology.DisputeSentinels},
		},
		"registered at a replica": {
			members: healthy().Members, sentinels: sentinelsNaming("b", "b", "b"),
			want: "a", wantDisputes: []topology.DisputeKind{topology.DisputeRole},
		},
		"Sentinels name a replica, and there is no primary": {
			members: []topology.Member{gone("a"), replica("b", "a")}, sentinels: sentinelsNaming("b", "b", "b"),
			wantDisputes: []topology.DisputeKind{topology.DisputeRole},
		},
		"Sentinels name a stranger": {
			members: healthy().Members, sentinels: sentinelsNaming("x", "x", "x"),
			want: "a", wantDisputes: []topology.DisputeKind{topology.DisputeStranger},
		},
		"cycle": {
			members:      []topology.Member{replica("a", "b"), replica("b", "a"), replica("c", "a")},
			wantDisputes: []topology.DisputeKind{topology.DisputeCycle},
		},
		"follows itself":                {members: []topology.Member{replica("a", "a")}, wantDisputes: []topology.DisputeKind{topology.DisputeCycle}},
		"no Sentinel holds the monitor": {members: healthy().Members, sentinels: []topology.SentinelView{without("s0"), without("s1")}, want: "a"},
	} {
		name0 := monitor
		if c.sentinels == nil {
			name0 = ""
		}
		got := topology.Snapshot{Members: c.members, Sentinels: c.sentinels}.Primary(name0)
		var kinds []topology.DisputeKind
		for _, dispute := range got.Disputes {
			kinds = append(kinds, dispute.Kind)
			if dispute.Text == "" {
				t.Errorf("%s: a dispute without a text", name)
			}
		}
		if got.Name != c.want || got.Presumed != c.wantPresumed || !slices.Equal(kinds, c.wantDisputes) {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

func TestSentinelPrimary(t *testing.T) {
	byIP := sentinel("s1", "a", 1)
	byIP.Monitors[monitor] = topology.MonitorView{Primary: topology.Address{Host: "10.0.0.1", Port: 6379}, ConfigEpoch: 1}
	aliased := with(primary("a"), func(m *topology.Member) { m.Aliases = []string{"10.0.0.1"} })
	for name, c := range map[string]struct {
		sentinels []topology.SentinelView
		want      topology.Verdict
		majority  bool
	}{
		"agreed": {sentinelsNaming("a", "a", "a"), topology.Verdict{Address: address("a"), Member: "a", Epoch: 1, Votes: 3, Answered: 3, Total: 3, Agreed: true}, true},
		"a name and an IP of one member": {
			[]topology.SentinelView{sentinel("s0", "a", 1), byIP},
			topology.Verdict{Address: address("a"), Member: "a", Epoch: 1, Votes: 2, Answered: 2, Total: 2, Agreed: true}, true,
		},
		"majority of one epoch": {sentinelsNaming("b", "a", "a"), topology.Verdict{Address: address("a"), Member: "a", Epoch: 1, Votes: 2, Answered: 3, Total: 3}, true},
		"the higher epoch wins against the majority": {
			[]topology.SentinelView{sentinel("s0", "a", 1), sentinel("s1", "a", 1), sentinel("s2", "b", 2)},
			topology.Verdict{Address: address("b"), Member: "b", Epoch: 2, Votes: 1, Answered: 3, Total: 3}, false,
		},
		"a tie is broken the same way each time": {sentinelsNaming("b", "a"), topology.Verdict{Address: address("a"), Member: "a", Epoch: 1, Votes: 1, Answered: 2, Total: 2}, false},
		"one of three answers": {
			[]topology.SentinelView{sentinel("s0", "a", 1), deadSentinel("s1"), deadSentinel("s2")},
			topology.Verdict{Address: address("a"), Member: "a", Epoch: 1, Votes: 1, Answered: 1, Total: 3, Agreed: true}, false,
		},
		"some do not hold it": {
			[]topology.SentinelView{sentinel("s0", "a", 1), without("s1")},
			topology.Verdict{Address: address("a"), Member: "a", Epoch: 1, Votes: 1, Answered: 2, Total: 2, Agreed: true, Missing: []string{"s1"}}, false,
		},
		"none answers": {[]topology.SentinelView{deadSentinel("s0")}, topology.Verdict{Total: 1}, false},
		"stranger":     {sentinelsNaming("x"), topology.Verdict{Address: address("x"), Epoch: 1, Votes: 1, Answered: 1, Total: 1, Agreed: true}, true},
	} {
		got := topology.Snapshot{Members: []topology.Member{aliased, primary("b")}, Sentinels: c.sentinels}.SentinelPrimary(monitor)
		if fmt.Sprintf("%+v", got) != fmt.Sprintf("%+v", c.want) || got.Majority() != c.majority {
			t.Errorf("%s: got  %+v, %t\nwant %+v", name, got, got.Majority(), c.want)
		}
	}
}

// A Sentinel that cannot resolve the new primary's name takes over the epoch of the failover and stays at the old address.
func TestOneEpochAndTwoAddresses(t *testing.T) {
	promoted := with(primary("b"), func(m *topology.Member) { m.ReplID, m.ReplID2, m.SecondOffset = "h2", "h1", 1000 })
	for name, c := range map[string]struct {
		members   []topology.Member
		sentinels []topology.SentinelView
		want      string
	}{
		"the old primary is gone":            {[]topology.Member{gone("a"), promoted}, sentinelsNaming("a", "b"), "b"},
		"the old primary is a replica":       {[]topology.Member{replica("a", "b"), promoted}, sentinelsNaming("a", "b"), "b"},
		"the old primary is back":            {[]topology.Member{primary("a"), promoted}, sentinelsNaming("a", "b"), "b"},
		"and most Sentinels are at it":       {[]topology.Member{primary("a"), promoted}, sentinelsNaming("a", "b", "a"), "b"},
		"nobody says which is the later one": {[]topology.Member{primary("a"), primary("b")}, sentinelsNaming("b", "a", "b"), "b"},
	} {
		got := topology.Snapshot{Members: c.members, Sentinels: c.sentinels}.SentinelPrimary(monitor)
		if got.Member != c.want || got.Agreed {
			t.Errorf("%s: %+v, want %s", name, got, c.want)
		}
	}
}

func TestQuorum(t *testing.T) {
	change := func(view topology.SentinelView, change func(*topology.MonitorView)) topology.SentinelView {
		m := view.Monitors[monitor]
		change(&m)
		view.Monitors = map[string]topology.MonitorView{monitor: m}
		return view
	}
	noQuorum := func(m *topology.MonitorView) { m.QuorumOK, m.QuorumMessage = false, "NOQUORUM 1 usable Sentinels" }
	ghosts := func(m *topology.MonitorView) { m.NumOtherSentinels = 5 }
	for name, c := range map[string]struct {
		sentinels []topology.SentinelView
		ok        bool
		available int
		message   string
	}{
		"all":                     {sentinelsNaming("a", "a", "a"), true, 3, ""},
		"two of three":            {append(sentinelsNaming("a", "a"), deadSentinel("s2")), true, 2, ""},
		"one of three says OK":    {[]topology.SentinelView{sentinel("s0", "a", 1), deadSentinel("s1"), deadSentinel("s2")}, false, 1, "quorum is 2"},
		"none":                    {[]topology.SentinelView{deadSentinel("s0")}, false, 0, "no Sentinel"},
		"none holds it":           {[]topology.SentinelView{without("s0"), without("s1"), without("s2")}, false, 0, "no Sentinel"},
		"they see each other not": {[]topology.SentinelView{change(sentinel("s0", "a", 1), noQuorum), change(sentinel("s1", "a", 1), noQuorum), deadSentinel("s2")}, false, 2, "NOQUORUM"},
		"ghosts":                  {[]topology.SentinelView{change(sentinel("s0", "a", 1), ghosts), sentinel("s1", "a", 1), sentinel("s2", "a", 1)}, false, 3, "4 must authorise"},
		"one names another":       {sentinelsNaming("a", "a", "b"), true, 2, ""},
	} {
		got := topology.Snapshot{Members: healthy().Members, Sentinels: c.sentinels}.Quorum(monitor)
		if got.OK != c.ok || got.Available != c.available || !strings.Contains(got.Message, c.message) || (got.Message == "") != c.ok {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

func TestFailoverInFlight(t *testing.T) {
	s := healthy()
	if by, inFlight := s.FailoverInFlight(monitor); inFlight {
		t.Errorf("healthy, says %s", by)
	}
	view := s.Sentinels[1].Monitors[monitor]
	view.FailoverInProgress = true
	s.Sentinels[1].Monitors[monitor] = view
	if by, inFlight := s.FailoverInFlight(monitor); !inFlight || by != "s1" {
		t.Errorf("only the leader knows: %q, %t", by, inFlight)
	}
	if _, inFlight := s.FailoverInFlight(""); inFlight {
		t.Error("Sentinels count without a monitor")
	}
	s = healthy()
	s.Members[0].FailoverState = "waiting-for-sync"
	if by, inFlight := s.FailoverInFlight(""); !inFlight || by != "a" {
		t.Errorf("the data node's own: %q, %t", by, inFlight)
	}
}
