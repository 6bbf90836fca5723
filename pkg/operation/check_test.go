// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package operation_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/valkeykube/valkeykube/pkg/operation"
	"github.com/valkeykube/valkeykube/pkg/topology"
)

func member(name string, role topology.Role) topology.Member {
	m := topology.Member{
		Name: name, Address: topology.Address{Host: name, Port: 6379}, Reach: topology.Reach{Class: topology.ReachOK}, Role: role,
		Offset: 100, ReplID: "h", SecondOffset: -1, Priority: 100, Keys: 1, RunID: name,
	}
	if role == topology.RoleReplica {
		m.Primary, m.LinkUp = topology.Address{Host: "a", Port: 6379}, true
	} else {
		m.Connected = []topology.ConnectedReplica{
			{Address: topology.Address{Host: "b", Port: 6379}, Online: true}, {Address: topology.Address{Host: "c", Port: 6379}, Online: true},
		}
	}
	return m
}

func set() topology.Snapshot {
	s := topology.Snapshot{Members: []topology.Member{
		member("a", topology.RolePrimary), member("b", topology.RoleReplica), member("c", topology.RoleReplica),
	}}
	for _, name := range []string{"s0", "s1", "s2"} {
		s.Sentinels = append(s.Sentinels, topology.SentinelView{
			Name: name, Reach: topology.Reach{Class: topology.ReachOK},
			Monitors: map[string]topology.MonitorView{"main": {Primary: topology.Address{Host: "a", Port: 6379}, Quorum: 2, QuorumOK: true, NumOtherSentinels: 2}},
		})
	}
	return s
}

func lose(m *topology.Member) {
	*m = topology.Member{Name: m.Name, Address: m.Address, Reach: topology.Reach{Class: topology.ReachUnreachable}}
}

func TestCheckFailover(t *testing.T) {
	type spoil = func(*topology.Snapshot)
	loseSentinels := func(n int) spoil {
		return func(s *topology.Snapshot) {
			for i := range n {
				s.Sentinels[i] = topology.SentinelView{Name: s.Sentinels[i].Name, Reach: topology.Reach{Class: topology.ReachTimeout}}
			}
		}
	}
	losePrimary := func(s *topology.Snapshot) { lose(&s.Members[0]) }
	inFlight := func(s *topology.Snapshot) {
		view := s.Sentinels[2].Monitors["main"]
		view.FailoverInProgress = true
		s.Sentinels[2].Monitors["main"] = view
	}
	const sentinel, direct = "main", ""
	for name, c := range map[string]struct {
		spoil   spoil
		request operation.Request
		from    string
		to      string
		want    []operation.Reason
		final   bool // at least one cause is not temporary
	}{
		"coordinated":                   {nil, operation.Request{Monitor: sentinel}, "a", "b", nil, false},
		"coordinated, direct":           {nil, operation.Request{Monitor: direct}, "a", "b", nil, false},
		"to the one that is wanted":     {nil, operation.Request{Monitor: sentinel, To: "c"}, "a", "c", nil, false},
		"to the furthest":               {func(s *topology.Snapshot) { s.Members[2].Offset++ }, operation.Request{Monitor: sentinel}, "a", "c", nil, false},
		"to the preferred":              {func(s *topology.Snapshot) { s.Members[1].Offset++; s.Members[2].Priority = 1 }, operation.Request{Monitor: sentinel}, "a", "c", nil, false},
		"passes one that is not fit":    {func(s *topology.Snapshot) { s.Members[1].LinkUp = false }, operation.Request{Monitor: sentinel}, "a", "c", nil, false},
		"to the primary":                {nil, operation.Request{Monitor: sentinel, To: "a"}, "a", "a", []operation.Reason{operation.ReasonIsPrimary}, true},
		"to a stranger":                 {nil, operation.Request{Monitor: sentinel, To: "x"}, "a", "x", []operation.Reason{operation.ReasonUnknownTarget}, true},
		"to one that is not synced":     {func(s *topology.Snapshot) { s.Members[1].Syncing = true }, operation.Request{Monitor: sentinel, To: "b"}, "a", "b", []operation.Reason{operation.ReasonTarget}, false},
		"to one that is never promoted": {func(s *topology.Snapshot) { s.Members[1].Priority = 0 }, operation.Request{To: "b"}, "a", "b", []operation.Reason{operation.ReasonTarget}, true},
		"to an empty one":               {func(s *topology.Snapshot) { s.Members[1].Keys = 0 }, operation.Request{To: "b"}, "a", "b", []operation.Reason{operation.ReasonDataLoss}, false},
		"nobody fit":                    {func(s *topology.Snapshot) { lose(&s.Members[1]); lose(&s.Members[2]) }, operation.Request{}, "a", "", []operation.Reason{operation.ReasonNoTarget}, false},
		"alone":                         {func(s *topology.Snapshot) { s.Members = s.Members[:1] }, operation.Request{}, "a", "", []operation.Reason{operation.ReasonNoTarget}, false},
		"primary gone":                  {losePrimary, operation.Request{Monitor: sentinel}, "a", "", []operation.Reason{operation.ReasonNoPrimary}, false},
		"everybody gone": {func(s *topology.Snapshot) {
			for i := range s.Members {
				lose(&s.Members[i])
			}
		}, operation.Request{}, "", "", []operation.Reason{operation.ReasonNoPrimary}, false},
		"two primaries": {func(s *topology.Snapshot) { s.Members[2] = member("c", topology.RolePrimary) }, operation.Request{Monitor: sentinel, To: "b"}, "a", "b", []operation.Reason{operation.ReasonDisputed}, false},
		"Sentinels disagree": {func(s *topology.Snapshot) {
			s.Sentinels[0].Monitors["main"] = topology.MonitorView{Primary: s.Members[1].Address}
		}, operation.Request{Monitor: sentinel, To: "b"}, "a", "b", []operation.Reason{operation.ReasonDisputed}, false},
		"one Sentinel gone":                {loseSentinels(1), operation.Request{Monitor: sentinel}, "a", "b", nil, false},
		"two Sentinels gone":               {loseSentinels(2), operation.Request{Monitor: sentinel}, "a", "b", []operation.Reason{operation.ReasonNoQuorum}, false},
		"all Sentinels gone":               {loseSentinels(3), operation.Request{Monitor: sentinel}, "a", "b", []operation.Reason{operation.ReasonNoSentinel}, false},
		"Sentinels do not matter":          {loseSentinels(3), operation.Request{Monitor: direct}, "a", "b", nil, false},
		"failover in flight":               {inFlight, operation.Request{Monitor: sentinel}, "a", "b", []operation.Reason{operation.ReasonInFlight}, false},
		"failover in flight, forced":       {inFlight, operation.Request{Monitor: sentinel, Mode: operation.Forced}, "a", "b", []operation.Reason{operation.ReasonInFlight}, false},
		"forced":                           {nil, operation.Request{Monitor: sentinel, Mode: operation.Forced}, "a", "b", nil, false},
		"forced, primary gone":             {losePrimary, operation.Request{Monitor: sentinel, Mode: operation.Forced}, "a", "b", nil, false},
		"forced, direct, primary gone":     {losePrimary, operation.Request{Mode: operation.Forced, To: "c"}, "a", "c", nil, false},
		"forced, one Sentinel left":        {loseSentinels(2), operation.Request{Monitor: sentinel, Mode: operation.Forced}, "a", "b", nil, false},
		"forced, no Sentinel left":         {loseSentinels(3), operation.Request{Monitor: sentinel, Mode: operation.Forced}, "a", "b", []operation.Reason{operation.ReasonNoSentinel}, false},
		"forced to one whose link is down": {func(s *topology.Snapshot) { losePrimary(s); s.Members[1].LinkUp = false }, operation.Request{Mode: operation.Forced, To: "b"}, "a", "b", nil, false},
		"forced to an empty one":           {func(s *topology.Snapshot) { losePrimary(s); s.Members[1].Keys = 0 }, operation.Request{Mode: operation.Forced, To: "b"}, "a", "b", []operation.Reason{operation.ReasonDataLoss}, false},
		"forced, all are empty":            {func(s *topology.Snapshot) { losePrimary(s); s.Members[1].Keys, s.Members[2].Keys = 0, 0 }, operation.Request{Mode: operation.Forced, To: "b"}, "a", "b", nil, false},
		"forced to one that is gone":       {func(s *topology.Snapshot) { lose(&s.Members[1]) }, operation.Request{Mode: operation.Forced, To: "b"}, "a", "b", []operation.Reason{operation.ReasonTarget}, false},
		"forced to half a copy":            {func(s *topology.Snapshot) { s.Members[1].Syncing = true }, operation.Request{Mode: operation.Forced, To: "b"}, "a", "b", []operation.Reason{operation.ReasonTarget}, false},
		"forced to a stranger":             {nil, operation.Request{Mode: operation.Forced, To: "x"}, "a", "x", []operation.Reason{operation.ReasonUnknownTarget}, true},
		"forced to the primary":            {nil, operation.Request{Mode: operation.Forced, To: "a"}, "a", "a", []operation.Reason{operation.ReasonIsPrimary}, true},
		"forced, nobody left": {func(s *topology.Snapshot) {
			for i := range s.Members {
				lose(&s.Members[i])
			}
		}, operation.Request{Mode: operation.Forced}, "", "", []operation.Reason{operation.ReasonNoTarget}, false},
	} {
		snapshot := set()
		if c.spoil != nil {
			c.spoil(&snapshot)
		}
		got := operation.CheckFailover(snapshot, c.request)
		var reasons []operation.Reason
		final := false
		for _, cause := range got.Causes {
			reasons = append(reasons, cause.Reason)
			final = final || !cause.Temporary
			if cause.Text == "" {
				t.Errorf("%s: %s without a text", name, cause.Reason)
			}
		}
		if got.From != c.from || got.To != c.to || !slices.Equal(reasons, c.want) || got.OK() != (len(c.want) == 0) || final != c.final {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

// A forced failover says what it costs.
func TestForcedFailoverNamesWhoseDataIsLost(t *testing.T) {
	snapshot := set()
	lose(&snapshot.Members[0])
	snapshot.Members[2].Offset = 500
	for to, want := range map[string]string{"": "", "b": "c", "c": ""} {
		got := operation.CheckFailover(snapshot, operation.Request{Mode: operation.Forced, To: to})
		if !got.OK() || strings.Join(got.Losing, ",") != want {
			t.Errorf("to %q: %+v", to, got)
		}
	}
}

func TestRefusedTellsWhetherToTryAgain(t *testing.T) {
	temporary := operation.Cause{Reason: operation.ReasonInFlight, Text: "x", Temporary: true}
	final := operation.Cause{Reason: operation.ReasonUnknownTarget, Text: "y"}
	if r := (&operation.Refused{Causes: []operation.Cause{temporary}}); !r.Temporary() || r.Error() != "failover refused: FailoverInFlight: x" {
		t.Errorf("%v", r)
	}
	if r := (&operation.Refused{Causes: []operation.Cause{temporary, final}}); r.Temporary() || !strings.HasSuffix(r.Error(), "; NotAMember: y") {
		t.Errorf("%v", r)
	}
}
