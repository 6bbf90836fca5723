// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"errors"
	"slices"
	"testing"

	"github.com/valkeykube/valkeykube/pkg/topology"
)

// switched is the look after the primary moved from v-0 to v-1.
func switched(o *Observed) {
	m := o.Snapshot.Members
	m[0].Role, m[0].Primary, m[0].LinkUp, m[0].Connected = topology.RoleReplica, address(1), true, nil
	m[1].Role, m[1].Primary, m[1].LinkUp = topology.RolePrimary, topology.Address{}, false
	m[1].Connected = []topology.ConnectedReplica{{Address: address(0), Online: true}}
	o.Valkey.Status.Primary = "v-1"
}

// carriedOut are the outcomes of a plan of which the orders to cut off clients end with the error.
func carriedOut(p Plan, err error) []Outcome {
	var outcomes []Outcome
	for _, action := range p.Actions {
		outcome := Outcome{Action: action}
		if _, cuts := action.(CutOff); cuts {
			outcome.Err = err
		}
		outcomes = append(outcomes, outcome)
	}
	return outcomes
}

// Clients that came back to the old primary before their machine knew the new route are cut off once it does.
func TestClientsThatStayedAreCutOff(t *testing.T) {
	o := given(modeOperator, 1, switched)
	o.Memory.Led = "v-0"
	cut := func() bool {
		decided := Compute(o)
		o.Memory = Remember(o, decided, carriedOut(decided, nil))
		if o.Memory.Left != "" && decided.RequeueAfter > Watchful {
			t.Errorf("the next look is in %s", decided.RequeueAfter)
		}
		return slices.Contains(decided.Actions, Action(CutOff{Node: "v-0"}))
	}
	if cut() || o.Memory.Left != "v-0" {
		t.Fatalf("at the change: %+v", o.Memory)
	}
	o.Now = o.Now.Add(straysAfter / 2)
	if cut() {
		t.Error("cut off before the machines know the new route")
	}
	o.Now = o.Now.Add(straysAfter)
	if !cut() {
		t.Error("not cut off")
	}
	if cut() {
		t.Error("cut off twice")
	}
}

// An order that failed, was skipped, or was not come to, is given again, and not for ever.
func TestClientsThatWereNotCutOffAreTriedAgain(t *testing.T) {
	for name, became := range map[string]func(Plan) []Outcome{
		"failed":      func(p Plan) []Outcome { return carriedOut(p, errors.New("connection refused")) },
		"not come to": func(Plan) []Outcome { return nil },
		"skipped":     func(Plan) []Outcome { return []Outcome{{Action: CutOff{Node: "v-0"}, Skipped: true}} },
	} {
		t.Run(name, func(t *testing.T) {
			o := given(modeOperator, 1, switched)
			o.Memory.Led, o.Memory.Left, o.Memory.LeftAt = "v-1", "v-0", o.Now.Add(-straysAfter)
			first, tries := o.Now, 0
			for o.Memory.Left != "" && tries < 1000 {
				decided := Compute(o)
				if !slices.Contains(decided.Actions, Action(CutOff{Node: "v-0"})) {
					t.Fatalf("after %s and %d tries it is remembered and not tried: %s", o.Now.Sub(first), tries, decided)
				}
				tries++
				o.Memory, o.Now = Remember(o, decided, became(decided)), o.Now.Add(Watchful)
			}
			if waited := o.Now.Sub(first); tries < 2 || waited > straysGiveUp+Watchful {
				t.Errorf("tried %d times in %s", tries, waited)
			}
		})
	}
}

func TestClientsOfAPrimaryAreNotCutOff(t *testing.T) {
	o := given(modeOperator, 1, member(1, func(m *topology.Member) { m.Role, m.Primary = topology.RolePrimary, topology.Address{} }))
	o.Memory.Led, o.Memory.Left, o.Memory.LeftAt = "v-0", "v-1", o.Now.Add(-2*straysAfter)
	for range 2 {
		decided := Compute(o)
		for _, action := range decided.Actions {
			if _, cuts := action.(CutOff); cuts {
				t.Errorf("planned: %s", action)
			}
		}
		o.Memory, o.Now = decided.Memory, o.Now.Add(straysUntil)
	}
	if o.Memory.Left != "" {
		t.Error("it is waited for without end")
	}
}
