// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"slices"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/valkeykube/valkeykube/pkg/apis/valkey/v1alpha1"
	"github.com/valkeykube/valkeykube/pkg/topology"
)

// A former primary that has come back is stopped also while a claim is fresh whose owner may have died.
func TestASecondPrimaryIsStoppedBesideAnOperation(t *testing.T) {
	claimed := func(from, to string) func(*Observed) {
		return func(o *Observed) {
			o.Valkey.Status.Operation = &v1alpha1.OperationStatus{From: from, To: to, Phase: v1alpha1.OperationInProgress, StartedAt: metav1.NewTime(testTime)}
			o.Memory.Astray = map[string]string{"v-2": "says that it is primary"}
		}
	}
	second := member(2, func(m *topology.Member) {
		m.Role, m.Primary, m.LinkUp = topology.RolePrimary, topology.Address{}, false
	})
	for name, tc := range map[string]struct {
		o       Observed
		stopped bool
	}{
		"it has nothing to do with it": {given(modeOperator, 2, second, claimed("v-0", "v-1")), true},
		"it takes part":                {given(modeOperator, 2, second, claimed("v-0", "v-2")), false},
		"it may take part":             {given(modeOperator, 2, second, claimed("v-0", "")), false},
		"the Sentinels stop it":        {given(modeSentinel, 2, second, claimed("v-0", "v-1")), false},
	} {
		t.Run(name, func(t *testing.T) {
			decided := Compute(tc.o)
			stopped := slices.ContainsFunc(decided.Actions, func(action Action) bool {
				follow, isFollow := action.(Follow)
				return isFollow && follow.Node == "v-2" && follow.Primary == "v-0"
			})
			if stopped != tc.stopped {
				t.Errorf("planned: %s", decided)
			}
		})
	}
}
