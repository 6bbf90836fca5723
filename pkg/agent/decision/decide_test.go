// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package decision

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/valkeykube/valkeykube/pkg/topology"
)

// want is an outcome in short: "primary Code", "replica of NAME Code", "wait Code", with "+failover NAME" or "+promote NAME".
func short(o Outcome) string {
	text := map[Action]string{Wait: "wait ", StartPrimary: "primary ", StartReplica: "replica of " + o.Primary + " "}[o.Action] + string(o.Code)
	switch o.Ask {
	case AskFailover:
		text += " +failover"
	case AskPromotion:
		text += " +promote"
	case AskNothing:
	}
	return strings.TrimSpace(strings.TrimSuffix(text+" "+o.Target, " "))
}

const (
	isPrimary = topology.RolePrimary
	isReplica = topology.RoleReplica
)

func run(t *testing.T, cases map[string]struct {
	in   Input
	want string
}) {
	t.Helper()
	for name, test := range cases {
		t.Run(name, func(t *testing.T) {
			outcome := Decide(test.in)
			if got := short(outcome); got != test.want {
				t.Errorf("got %q (%s), want %q", got, outcome.Reason, test.want)
			}
			if outcome.Reason == "" {
				t.Error("no reason is given")
			}
		})
	}
}

func TestFirstStart(t *testing.T) {
	run(t, map[string]struct {
		in   Input
		want string
	}{
		"alone":                            {Input{Self: Self{Name: "v-0"}}, "primary Alone"},
		"node 0 waits for nobody":          {look(), "primary Bootstrap"},
		"node 0 of a set with volumes":     {look(persistent), "wait Bootstrap"},
		"it waits for a moment only":       {look(persistent, after(6*time.Second)), "primary Bootstrap"},
		"or until all are there":           {look(persistent, deciding("v-1", "", ""), deciding("v-2", "", "")), "primary Bootstrap"},
		"it is monitored already":          {look(persistent, sentinels(0, "v-0", "v-0", "v-0")), "wait Bootstrap"},
		"node 0 under silent Sentinels":    {look(sentinels(0, "-", "-", "-")), "primary Bootstrap"},
		"node 0 is monitored already":      {look(sentinels(0, "v-0", "v-0", "v-0")), "primary Named"},
		"node 0 with unresolvable peers":   {look(sight("v-1", Blind), sight("v-2", Blind)), "primary Bootstrap"},
		"node 0 beside empty peers":        {look(deciding("v-1", "", ""), deciding("v-2", "", "")), "primary Bootstrap"},
		"node 1 waits for node 0":          {look(as("v-1")), "wait Bootstrap"},
		"node 1 follows it when it starts": {look(as("v-1"), deciding("v-0", "", "", starting("v-0"))), "replica of v-0 Follow"},
		"node 1 follows it when it runs":   {look(as("v-1"), primary("v-0", onA(1))), "replica of v-0 Follow"},
		"node 1 does not wait for ever":    {look(as("v-1"), after(time.Minute)), "replica of v-0 Bootstrap"},
		"a node that is added": {
			look(as("v-2"), hint("v-1"), primary("v-1", onB(9)), replica("v-0", "v-1", onB(9))), "replica of v-1 Follow",
		},
	})
}

// A volume that outlived its set must not be lost to an empty node 0.
func TestStartWithRetainedVolumes(t *testing.T) {
	run(t, map[string]struct {
		in   Input
		want string
	}{
		"node 0 is empty, node 1 has data": {
			look(deciding("v-1", "", "", holding(onA(5))), deciding("v-2", "", "")), "wait NewestData",
		},
		"node 1 has it": {
			look(as("v-1"), data(onA(5)), deciding("v-0", "", ""), deciding("v-2", "", "")), "primary NewestData",
		},
		"node 1 has it, and node 2 is not seen yet": {
			look(as("v-1"), data(onA(5)), deciding("v-0", "", "")), "wait AwaitMembers",
		},
		"node 2 never comes": {
			look(as("v-1"), data(onA(5)), deciding("v-0", "", ""), after(time.Minute)), "primary NewestData",
		},
		"of two the newer": {
			look(data(onA(5)), deciding("v-1", "", "", holding(onB(1))), deciding("v-2", "", "")), "wait NewestData",
		},
		"of two strangers the one seen last": {
			look(data(Position{ReplID: "Y", When: time.Unix(5, 0)}),
				deciding("v-1", "", "", holding(Position{ReplID: "Z", When: time.Unix(4, 0)})), deciding("v-2", "", "")),
			"primary NewestData",
		},
		"the newest never starts": {
			look(data(onA(5)), deciding("v-1", "", "", holding(onB(1))), deciding("v-2", "", ""), after(time.Hour)), "replica of v-1 NewestData",
		},
		"node 0 started empty before node 1 came": {
			look(as("v-1"), data(onA(5)), primary("v-0", stranger(1)), emptied("v-0")), "wait PrimaryIsEmpty",
		},
	})
}

func TestWhoIsNamed(t *testing.T) {
	run(t, map[string]struct {
		in   Input
		want string
	}{
		"a failover while the controller was away (E4)": {
			look(hint("v-0"), data(onA(5)), record(isPrimary, "", 1), sentinels(1, "v-1", "v-1", "v-1"), primary("v-1", onB(9)), replica("v-2", "v-1", onB(9))),
			"replica of v-1 Follow",
		},
		"the majority of the Sentinels": {
			look(sentinels(3, "v-1", "v-2", "v-1"), replica("v-1", "v-0", onA(5)), replica("v-2", "v-0", onA(5))), "wait PrimaryFollowsUs",
		},
		"the highest epoch beats the majority": {
			look(hint("v-0"), func(in *Input) {
				in.Mode = ModeSentinel
				in.Sentinels = []Sentinel{{Answered: true, Says: "v-2", Epoch: 1}, {Answered: true, Says: "v-2", Epoch: 1}, {Answered: true, Says: "v-1", Epoch: 2}}
			}, primary("v-1", onB(9)), replica("v-2", "v-1", onB(9))),
			"replica of v-1 Follow",
		},
		"an old primary that still runs does not beat Sentinels that failed over": {
			look(sentinels(2, "v-1", "v-1", "v-1"), primary("v-2", onA(9)), replica("v-1", "v-2", onA(9))), "replica of v-1 Follow",
		},
		"a running primary beats Sentinels that repeat an old hint": {
			look(hint("v-1"), sentinels(0, "v-1", "v-1", "v-1"), primary("v-2", onB(9)), replica("v-1", "v-2", onB(9))), "replica of v-2 Follow",
		},
		"one Sentinel of three that is old beats no running primary": {
			look(sentinels(2, "v-1", "-", "-"), after(time.Minute), primary("v-2", onC(9))), "replica of v-2 Follow",
		},
		"Sentinels name somebody who is no member": {
			look(sentinels(2, "10.0.0.1:6379", "10.0.0.1:6379", "10.0.0.1:6379")), "replica of 10.0.0.1:6379 Follow",
		},
		"a running primary beats the hint": {
			look(hint("v-0"), data(onA(5)), primary("v-1", onB(9)), replica("v-2", "v-1", onB(9))), "replica of v-1 Follow",
		},
		"of two running primaries the hinted": {
			look(hint("v-2"), primary("v-1", onA(9)), primary("v-2", onA(5))), "replica of v-2 Follow",
		},
		"of two running primaries the one with followers": {
			look(func(in *Input) { in.Peers = append(in.Peers, Peer{Name: "v-3", Index: 3}) },
				primary("v-1", onA(9)), primary("v-2", onA(5)), replica("v-3", "v-2", onA(5))), "replica of v-2 Follow",
		},
		"of two running primaries the newer": {look(primary("v-1", onA(9)), primary("v-2", onB(5))), "replica of v-2 Follow"},
		"the running replicas beat the hint": {
			look(hint("v-1"), data(onB(9)), complete, record(isPrimary, "", 5), replica("v-1", "v-0", onB(9)), replica("v-2", "v-0", onB(9))), "primary Named",
		},
		"a replica of a replica speaks for the root": {
			look(hint("v-2"), data(onB(9)), complete, record(isPrimary, "", 5), replica("v-1", "v-0", onB(9)), replica("v-2", "v-1", onB(9))), "primary Named",
		},
		"a hinted primary that follows this node is none": {
			look(hint("v-1"), data(onB(9)), record(isPrimary, "", 5), replica("v-1", "v-0", onB(9)), after(time.Minute)), "primary Named",
		},
		"a replica that was pointed at a stranger says nothing (A3)": {
			look(hint("v-2"), replica("v-1", "10.9.9.9:6379", onB(9))), "replica of v-2 Follow",
		},
		"the hint":                       {look(hint("v-1"), replica("v-1", "v-9", onB(9))), "replica of v-1 Follow"},
		"a hint that is no member":       {look(hint("v-7")), "primary Bootstrap"},
		"the record, while no hint came": {look(record(isReplica, "v-1", 5), deciding("v-1", "", "", standingBack)), "replica of v-1 Follow"},
		"the record of a primary":        {look(as("v-1"), record(isPrimary, "", 5), data(onA(5)), complete, deciding("v-0", "", ""), deciding("v-2", "", "")), "primary Named"},
	})
}

func TestAnEmptyReplicaIsNotToBePromoted(t *testing.T) {
	named := sentinels(1, "v-1", "v-1", "v-1")
	cases := map[string]struct {
		in   Input
		want bool
	}{
		"empty, beside data":  {look(hint("v-1"), named, primary("v-1", onB(9))), true},
		"empty, of a new set": {look(named, primary("v-1", onB(9)), emptied("v-1")), false},
		"with data":           {look(hint("v-1"), named, data(onA(5)), primary("v-1", onB(9))), false},
		"no Sentinels":        {look(hint("v-1"), primary("v-1", onB(9))), false},
		"not a replica":       {look(hint("v-0"), sentinels(1, "v-0", "v-0", "v-0")), false},
	}
	for name, test := range cases {
		t.Run(name, func(t *testing.T) {
			if outcome := Decide(test.in); outcome.Unpromotable != test.want {
				t.Errorf("got %+v", outcome)
			}
		})
	}
}

func TestMayHoldData(t *testing.T) {
	peers := []Peer{
		{Name: "holds", Server: &Server{HasData: true}},
		{Name: "empty", Server: &Server{}, Agent: &Agent{HasData: true}}, // flushed: its old files are still there
		{Name: "loading", Server: &Server{Loading: true}},
		{Name: "waits", Agent: &Agent{Deciding: true, HasData: true}},
		{Name: "waits, empty", Agent: &Agent{Deciding: true}},
		{Name: "gone", Sight: Absent},
		{Name: "silent", Sight: Unreachable},
		{Name: "unresolved", Sight: Blind},
	}
	want := []string{"holds", "loading", "waits", "unresolved"}
	if got := MayHoldData(peers); !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}
