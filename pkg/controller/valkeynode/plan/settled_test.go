// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package plan

import "testing"

// versioned is a look at a settled node with the resource versions that a real API gives.
func versioned(tb testing.TB) Observed {
	tb.Helper()
	m := newModel(tb, ofValkey())
	m.settle()
	o := m.observe()
	o.Objects.StatefulSet.ResourceVersion, o.Objects.Service.ResourceVersion, o.Objects.Claim.ResourceVersion = "1", "2", "3"
	o.Memory = Compute(o).Memory
	return o
}

// BenchmarkIdlePass is what a pass over a node costs at which nothing is to be done, without the look.
func BenchmarkIdlePass(b *testing.B) {
	observed := versioned(b)
	b.ReportAllocs()
	for b.Loop() {
		Status(observed, Compute(observed), nil)
	}
}

func TestAChildIsComparedAgainWhenItOrWhatItIsBuiltFromChanges(t *testing.T) {
	for name, tc := range map[string]struct {
		change func(*Observed)
		want   string
	}{
		"nothing":            {func(*Observed) {}, ""},
		"the child":          {func(o *Observed) { o.Objects.Service.ResourceVersion, o.Objects.Service.Spec.Selector = "9", nil }, "apply Service valkey-cart-0"},
		"another of its uid": {func(o *Observed) { o.Objects.Service.UID, o.Objects.Service.Spec.Selector = "new", nil }, "apply Service valkey-cart-0"},
		"the agent":          {func(o *Observed) { o.Environment.AgentImage = "agent:2" }, "apply StatefulSet valkey-cart-0"},
		"the spec": {func(o *Observed) {
			o.Node.Generation, o.Node.Spec.PodLabels, o.Node.Spec.Valkey = 2, map[string]string{"a": "b"}, ""
		}, "apply StatefulSet valkey-cart-0"},
		"its owner": {func(o *Observed) { o.Objects.Service.OwnerReferences = nil }, ""},
	} {
		t.Run(name, func(t *testing.T) {
			o := versioned(t)
			tc.change(&o)
			decided := Compute(o)
			got := ""
			for _, action := range decided.Actions {
				if apply, ok := action.(Apply); ok && (apply.Kind == KindService || apply.Kind == KindStatefulSet) {
					got = apply.String()
				}
			}
			if got != tc.want {
				t.Errorf("planned %q, want %q", got, tc.want)
			}
			if name == "its owner" && !decided.isBlocked(KindService) {
				t.Error("an object that is not ours any more was taken for settled")
			}
		})
	}
}
