// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package fence

import (
	"testing"
	"time"

	"github.com/valkeykube/valkeykube/pkg/topology"
)

var start = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

var (
	agrees  = Sentinel{Reached: true, Names: true, Epoch: 3}
	silent  = Sentinel{}
	blank   = Sentinel{Reached: true}
	down    = Sentinel{Reached: true, Names: true, Down: true, Epoch: 3}
	another = Sentinel{Reached: true, Another: true, Epoch: 4}
	// agreesLater names this node, which was promoted over the one of another, and replaced the one that was promoted after that.
	agreesLater = Sentinel{Reached: true, Names: true, Epoch: 5}
	replaced    = Sentinel{Reached: true, Another: true, Epoch: 6}

	behind = Sentinel{Reached: true, Another: true, Epoch: 2}
)

// asked is a look at a primary that no replica acknowledges to.
func asked(sentinels ...Sentinel) Look {
	return Look{Primary: true, Asked: true, Authority: Sentinels, Sentinels: sentinels, Contact: -1}
}

func controller(contact time.Duration, successor string) Look {
	return Look{Primary: true, Asked: true, Authority: Controller, Contact: contact, Successor: successor}
}

func acknowledged(look Look) Look {
	look.Acknowledged, look.Asked = true, false
	return look
}

func with(look Look, change func(*Look)) Look {
	change(&look)
	return look
}

func late(look Look, seconds int) Look {
	return with(look, func(l *Look) { l.At = start.Add(time.Duration(seconds) * time.Second) })
}

func TestNext(t *testing.T) {
	joined := State{Joined: true}
	closed := State{Joined: true, Closed: true, Since: start.Add(-time.Minute), Reason: "cut off"}
	for name, test := range map[string]struct {
		state State
		// looks are half a second apart.
		looks      []Look
		wantClosed bool
	}{
		"cut off from the Sentinels":  {joined, []Look{asked(silent, silent, silent), asked(silent, silent, silent), asked(silent, silent, silent)}, true},
		"a minority on its side":      {joined, []Look{asked(agrees, silent, silent), asked(agrees, silent, silent), asked(agrees, silent, silent)}, true},
		"held for down by most":       {joined, []Look{asked(down, down, agrees), asked(down, down, agrees), asked(down, down, agrees)}, true},
		"half of four":                {joined, []Look{asked(agrees, agrees, silent, silent), asked(agrees, agrees, silent, silent), asked(agrees, agrees, silent, silent)}, true},
		"one late answer":             {joined, []Look{asked(silent, silent, silent), asked(agrees, agrees, silent), asked(silent, silent, silent)}, false},
		"one slow look":               {joined, []Look{with(asked(silent, silent, silent), func(l *Look) { l.At = start.Add(time.Hour) })}, false},
		"only the replicas are lost":  {joined, []Look{asked(agrees, agrees, silent), asked(agrees, agrees, silent), asked(agrees, agrees, silent)}, false},
		"only the Sentinels are":      {joined, []Look{acknowledged(asked()), acknowledged(asked()), acknowledged(asked())}, false},
		"Sentinels that know nothing": {joined, []Look{asked(blank, blank, silent), asked(blank, blank, silent), asked(blank, blank, silent)}, false},
		"another was promoted":        {joined, []Look{asked(another, agrees, agrees)}, true},
		"also a new one's":            {State{}, []Look{asked(another, silent, silent)}, true},
		"one that is behind":          {joined, []Look{asked(behind, agrees, agrees), asked(behind, agrees, agrees), asked(behind, agrees, agrees)}, false},
		"before the first replica":    {State{}, []Look{asked(silent, silent, silent), asked(silent, silent, silent), asked(silent, silent, silent)}, false},
		"after the first replica": {State{}, []Look{
			acknowledged(asked()), asked(silent, silent, silent), asked(silent, silent, silent), asked(silent, silent, silent)}, true},
		"the controller asks":       {joined, []Look{controller(time.Second, ""), controller(2*time.Second, ""), controller(3*time.Second, "")}, false},
		"the controller is silent":  {joined, []Look{controller(6*time.Second, ""), controller(7*time.Second, ""), controller(8*time.Second, "")}, true},
		"the controller never came": {joined, []Look{controller(-1, ""), controller(-1, ""), controller(-1, "")}, true},
		"a successor in sight":      {joined, []Look{controller(0, "v-1")}, true},
		"promoted, and not known to be yet": {State{Joined: true, replica: true}, []Look{
			asked(another, another, another), asked(agreesLater, another, another), asked(agreesLater, another, another), asked(agreesLater, another, another)}, false},
		"promoted, confirmed, and one that has not heard of it": {State{Joined: true, replica: true}, []Look{
			asked(another, another, another), acknowledged(asked()), asked(another, silent, silent)}, false},
		"promoted, and cut off for long": {State{Joined: true, replica: true}, []Look{
			asked(silent, silent, silent), late(asked(silent, silent, silent), 11), late(asked(silent, silent, silent), 13)}, true},
		"promoted, confirmed, and replaced": {State{Joined: true, replica: true}, []Look{
			asked(another, another, another), asked(agreesLater, agreesLater, another), late(asked(replaced, silent, silent), 3)}, true},
		"closed, and a replica":                 {closed, []Look{acknowledged(asked())}, false},
		"closed, and confirmed":                 {closed, []Look{asked(agrees, agrees, silent)}, false},
		"closed, and demoted":                   {closed, []Look{with(asked(), func(l *Look) { l.Primary = false })}, false},
		"closed, and still silence":             {closed, []Look{asked(silent, silent, silent)}, true},
		"closed, and alone now":                 {closed, []Look{with(asked(), func(l *Look) { l.Alone = true })}, false},
		"closed, and in mode None":              {closed, []Look{with(asked(), func(l *Look) { l.Authority = Nobody })}, false},
		"closed, and back before it is demoted": {closed, []Look{controller(0, "v-1")}, true},
	} {
		t.Run(name, func(t *testing.T) {
			state := test.state
			for i, look := range test.looks {
				if look.At.IsZero() {
					look.At = start.Add(time.Duration(i) * 500 * time.Millisecond)
				}
				state = state.Next(look)
			}
			if state.Closed != test.wantClosed || state.Closed == (state.Reason == "") {
				t.Errorf("%+v", state)
			}
			if test.state.Closed && state.Closed && state.Since != test.state.Since {
				t.Errorf("closed since %s", state.Since)
			}
		})
	}
}

func TestMustAsk(t *testing.T) {
	look := Look{Primary: true, Authority: Sentinels}
	for name, test := range map[string]struct {
		look Look
		want bool
	}{
		"no replica acknowledges": {look, true},
		"one does":                {with(look, func(l *Look) { l.Acknowledged = true }), false},
		"a replica":               {with(look, func(l *Look) { l.Primary = false }), false},
		"alone":                   {with(look, func(l *Look) { l.Alone = true }), false},
		"nobody to ask":           {with(look, func(l *Look) { l.Authority = Nobody }), false},
	} {
		if got := MustAsk(test.look); got != test.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}

func TestAcknowledged(t *testing.T) {
	replica := func(online bool, lag time.Duration) topology.ConnectedReplica {
		return topology.ConnectedReplica{Online: online, Lag: lag}
	}
	for name, test := range map[string]struct {
		replicas []topology.ConnectedReplica
		want     bool
	}{
		"none":              {nil, false},
		"lately":            {[]topology.ConnectedReplica{replica(true, time.Second)}, true},
		"long ago":          {[]topology.ConnectedReplica{replica(true, 2*time.Second)}, false},
		"never":             {[]topology.ConnectedReplica{replica(true, -1)}, false},
		"still copying":     {[]topology.ConnectedReplica{replica(false, 0)}, false},
		"one of two lately": {[]topology.ConnectedReplica{replica(true, time.Hour), replica(true, 0)}, true},
	} {
		if got := Acknowledged(topology.Member{Connected: test.replicas}, 2*time.Second); got != test.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}
