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

func names(members []topology.Member) string {
	var all []string
	for _, m := range members {
		all = append(all, m.Name)
	}
	return strings.Join(all, ",")
}

func TestSyncedReplicas(t *testing.T) {
	s := healthy()
	s.Members = append(s.Members,
		gone("d"),
		with(replica("e", "a"), func(m *topology.Member) { m.LinkUp = false }),
		with(replica("f", "a"), func(m *topology.Member) { m.Syncing = true }),
		with(replica("g", "a"), func(m *topology.Member) { m.Loading = true }),
		replica("h", "b"),
		replica("i", "a"), // not seen by a
	)
	if got := names(s.SyncedReplicas("a")); got != "b,c" {
		t.Errorf("of a: %s", got)
	}
	s.Members[0] = gone("a")
	if got := names(s.SyncedReplicas("a")); got != "b,c,i" {
		t.Errorf("of an unreachable primary: %s", got)
	}
	if got := names(s.SyncedReplicas("x")); got != "" {
		t.Errorf("of a stranger: %s", got)
	}
}

func TestCanFailover(t *testing.T) {
	for name, c := range map[string]struct {
		spoil func(*topology.Snapshot)
		to    string
		want  topology.Refusal
	}{
		"fit":             {nil, "b", ""},
		"unknown":         {nil, "x", topology.RefusedUnknown},
		"the primary":     {nil, "a", topology.RefusedIsPrimary},
		"unreachable":     {func(s *topology.Snapshot) { s.Members[1] = gone("b") }, "b", topology.RefusedUnreachable},
		"loading":         {func(s *topology.Snapshot) { s.Members[1].Loading = true }, "b", topology.RefusedLoading},
		"link down":       {func(s *topology.Snapshot) { s.Members[1].LinkUp = false }, "b", topology.RefusedNotSynced},
		"syncing":         {func(s *topology.Snapshot) { s.Members[1].Syncing = true }, "b", topology.RefusedNotSynced},
		"follows another": {func(s *topology.Snapshot) { s.Members[1].Primary = address("c") }, "b", topology.RefusedNotSynced},
		"not online":      {func(s *topology.Snapshot) { s.Members[0].Connected[0].Online = false }, "b", topology.RefusedNotSynced},
		"never promoted":  {func(s *topology.Snapshot) { s.Members[1].Priority = 0 }, "b", topology.RefusedPriority},
		"empty":           {func(s *topology.Snapshot) { s.Members[1].Keys = 0 }, "b", topology.RefusedEmpty},
		"all are empty":   {func(s *topology.Snapshot) { s.Members[0].Keys, s.Members[1].Keys, s.Members[2].Keys = 0, 0, 0 }, "b", ""},
		"a little behind": {func(s *topology.Snapshot) { s.Members[1].Offset -= 100 }, "b", ""},
		"primary is gone": {func(s *topology.Snapshot) { s.Members[0] = gone("a") }, "b", ""},
		"primary unknown": {func(s *topology.Snapshot) { s.Members = s.Members[1:] }, "b", topology.RefusedNotSynced},
	} {
		s := healthy()
		if c.spoil != nil {
			c.spoil(&s)
		}
		refusal, text := s.CanFailover("a", c.to)
		if refusal != c.want || (text == "") != (c.want == "") {
			t.Errorf("%s: %q, %q", name, refusal, text)
		}
	}
}

func TestBestReplica(t *testing.T) {
	at := func(name string, offset int64) topology.Member {
		return with(replica(name, "a"), func(m *topology.Member) { m.Offset = offset; m.LinkUp = false })
	}
	for name, c := range map[string]struct {
		members []topology.Member
		want    string
		losing  string
	}{
		"best offset":            {[]topology.Member{gone("a"), at("b", 10), at("c", 20)}, "c", ""},
		"equal: priority":        {[]topology.Member{gone("a"), at("b", 10), with(at("c", 10), func(m *topology.Member) { m.Priority = 1 })}, "c", ""},
		"equal: the first":       {[]topology.Member{gone("a"), at("b", 10), at("c", 10)}, "b", ""},
		"offset before priority": {[]topology.Member{gone("a"), at("b", 20), with(at("c", 10), func(m *topology.Member) { m.Priority = 1 })}, "b", ""},
		"never promoted":         {[]topology.Member{gone("a"), with(at("b", 20), func(m *topology.Member) { m.Priority = 0 }), at("c", 10)}, "c", "b"},
		"not the primary":        {[]topology.Member{primary("a"), at("b", 20)}, "b", ""},
		"empty ones never":       {[]topology.Member{gone("a"), empty(primary("b"), "h9"), at("c", 10)}, "c", ""},
		"only empty ones":        {[]topology.Member{gone("a"), empty(replica("b", "a"), "h1")}, "b", ""},
		"an empty one beside one that loads": {
			[]topology.Member{gone("a"), empty(replica("b", "a"), "h1"), with(replica("c", "a"), func(m *topology.Member) { m.Reach.Class, m.Loading = topology.ReachLoading, true })}, "", "",
		},
		"half a copy never": {[]topology.Member{gone("a"), with(at("b", 99), func(m *topology.Member) { m.Syncing = true }), at("c", 10)}, "c", "b"},
		"a later history": {
			[]topology.Member{gone("a"), at("b", 900), with(at("c", 950), func(m *topology.Member) { m.ReplID, m.ReplID2, m.SecondOffset = "h2", "h1", 900 })}, "c", "",
		},
		"histories that parted": {
			[]topology.Member{gone("a"), at("b", 900), with(at("c", 850), func(m *topology.Member) { m.ReplID, m.ReplID2, m.SecondOffset, m.Keys = "h2", "h1", 800, 11 })}, "c", "b",
		},
		"an old copy that never was linked, with more keys": {
			[]topology.Member{gone("a"), at("b", 900), with(at("c", 5000), func(m *topology.Member) { m.ReplID, m.Keys, m.LinkDownFor = "h9", 50, -1 })}, "b", "c",
		},
		"nobody": {[]topology.Member{gone("a"), gone("b")}, "", ""},
	} {
		got, found := topology.Snapshot{Members: c.members}.BestReplica("a")
		if got.Member.Name != c.want || found != (c.want != "") || strings.Join(got.Losing, ",") != c.losing {
			t.Errorf("%s: %s, losing %v", name, got.Member.Name, got.Losing)
		}
		if found && !strings.Contains(got.Text, fmt.Sprint(got.Member.Offset)) {
			t.Errorf("%s: the text does not name the offset: %s", name, got.Text)
		}
	}
}

// Whoever is chosen does not depend on the order in which the members are listed, as long as one is really better.
func TestBestReplicaDoesNotDependOnOrder(t *testing.T) {
	members := []topology.Member{
		gone("a"), with(replica("b", "a"), func(m *topology.Member) { m.Offset = 5 }), with(replica("c", "a"), func(m *topology.Member) { m.Offset = 7 }),
		with(replica("d", "a"), func(m *topology.Member) { m.Offset = 6 }),
	}
	for range len(members) {
		members = append(members[1:], members[0])
		if got, _ := (topology.Snapshot{Members: slices.Clone(members)}).BestReplica("a"); got.Member.Name != "c" {
			t.Errorf("%s: %s", names(members), got.Member.Name)
		}
	}
}

func TestOrphans(t *testing.T) {
	s := healthy()
	s.Members = append(s.Members,
		primary("d"), empty(primary("e"), "h7"), replica("f", "x"), replica("g", "b"), gone("h"),
		with(primary("i"), func(m *topology.Member) { m.ReplID = "h3" }),
		with(replica("j", "a"), func(m *topology.Member) { m.LinkUp = false }), // belongs, though not linked
	)
	var got []string
	for _, orphan := range s.Orphans("a") {
		got = append(got, fmt.Sprintf("%s %s %t", orphan.Name, orphan.Kind, orphan.HoldsMore))
	}
	want := []string{"d ExtraPrimary false", "e ExtraPrimary false", "f FollowsStranger false", "g FollowsAnother false", "i ExtraPrimary true"}
	if !slices.Equal(got, want) {
		t.Errorf("got %q", got)
	}
	if orphans := s.Orphans(""); orphans != nil {
		t.Errorf("without a primary: %v", orphans)
	}
}

func TestDataAtRisk(t *testing.T) {
	for name, c := range map[string]struct {
		members []topology.Member
		monitor string
		want    string
	}{
		"healthy":       {healthy().Members, "", ""},
		"new and empty": {[]topology.Member{empty(primary("a"), "h1"), empty(replica("b", "a"), "h1")}, "", ""},
		"primary came back empty": {
			[]topology.Member{empty(primary("a"), "h2"), with(replica("b", "a"), func(m *topology.Member) { m.LinkUp = false }), gone("c")}, "", "b",
		},
		"flushed, replica has not followed yet": {[]topology.Member{with(primary("a"), func(m *topology.Member) { m.Keys = 0 }), replica("b", "a")}, "", ""},
		"a replica is empty":                    {[]topology.Member{primary("a"), empty(replica("b", "a"), "h1")}, "", ""},
		"holder is loading": {
			[]topology.Member{empty(primary("a"), "h2"), with(replica("b", "a"), func(m *topology.Member) { m.Keys, m.Loading, m.Reach.Class = 0, true, topology.ReachLoading })}, "", "b",
		},
		"Sentinels name an empty replica":   {[]topology.Member{primary("b"), empty(replica("a", "b"), "h2")}, monitor, "b"},
		"unreachable holders are not known": {[]topology.Member{empty(primary("a"), "h2"), gone("b")}, "", ""},
	} {
		s := topology.Snapshot{Members: c.members, Sentinels: sentinelsNaming("a", "a", "a")}
		risk, atRisk := s.DataAtRisk(c.monitor)
		if atRisk != (c.want != "") || strings.Join(risk.Holders, ",") != c.want {
			t.Errorf("%s: %+v", name, risk)
		}
	}
}
