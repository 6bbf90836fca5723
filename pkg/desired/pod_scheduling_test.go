// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package desired

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"github.com/valkeykube/valkeykube/pkg/apis/valkey/v1alpha1"
)

func TestSpread(t *testing.T) {
	mode := func(node, zone v1alpha1.SpreadMode) v1alpha1.SchedulingSpec {
		var scheduling v1alpha1.SchedulingSpec
		scheduling.Node.Spread.Pods.Mode, scheduling.Zone.Spread.Pods.Mode = node, zone
		return scheduling
	}
	own := mode(v1alpha1.SpreadPreferred, v1alpha1.SpreadPreferred)
	own.TopologySpreadConstraints = []corev1.TopologySpreadConstraint{{MaxSkew: 2, TopologyKey: "kubernetes.io/hostname", WhenUnsatisfiable: corev1.DoNotSchedule}}
	set := map[string]string{"valkey.io/valkey": "cart"}
	for name, tc := range map[string]struct {
		scheduling   v1alpha1.SchedulingSpec
		set          map[string]string
		want         []string
		wantTogether bool
	}{
		"default":             {mode("", ""), set, []string{"kubernetes.io/hostname ScheduleAnyway 1", "topology.kubernetes.io/zone ScheduleAnyway 1"}, true},
		"disabled":            {mode(v1alpha1.SpreadDisabled, v1alpha1.SpreadDisabled), set, nil, true},
		"required":            {mode(v1alpha1.SpreadRequired, v1alpha1.SpreadRequired), set, []string{"topology.kubernetes.io/zone DoNotSchedule 1"}, false},
		"the user's own wins": {own, set, []string{"kubernetes.io/hostname DoNotSchedule 2", "topology.kubernetes.io/zone ScheduleAnyway 1"}, true},
		"a pod alone":         {mode(v1alpha1.SpreadRequired, v1alpha1.SpreadRequired), nil, nil, true},
	} {
		t.Run(name, func(t *testing.T) {
			var got []string
			for _, constraint := range spreadConstraints(tc.scheduling, tc.set) {
				got = append(got, constraint.TopologyKey+" "+string(constraint.WhenUnsatisfiable)+" "+string(rune('0'+constraint.MaxSkew)))
				if len(tc.set) > 0 && constraint.LabelSelector.MatchLabels["valkey.io/valkey"] != "cart" {
					t.Errorf("%s does not select the set's pods", constraint.TopologyKey)
				}
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("constraints (-want +got):\n%s", diff)
			}
			affinity := affinity(tc.scheduling, tc.set)
			together := affinity == nil || affinity.PodAntiAffinity == nil
			if together != tc.wantTogether {
				t.Errorf("two pods may share a node: %v, want %v", together, tc.wantTogether)
			}
		})
	}
}

func TestPinningBindsEveryAlternativeOfTheUsersAffinity(t *testing.T) {
	disk := corev1.NodeSelectorRequirement{Key: "disk", Operator: corev1.NodeSelectorOpIn, Values: []string{"ssd"}}
	users := &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{
		NodeSelectorTerms: []corev1.NodeSelectorTerm{{MatchExpressions: []corev1.NodeSelectorRequirement{disk}}, {}},
	}}}
	scheduling := v1alpha1.SchedulingSpec{Affinity: users, Zone: v1alpha1.ZonePlacement{Pinning: &v1alpha1.ZonePinning{Zones: []string{"a"}}}}
	terms := affinity(scheduling, nil).NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms
	for i, term := range terms {
		last := term.MatchExpressions[len(term.MatchExpressions)-1]
		if last.Key != "topology.kubernetes.io/zone" || last.Values[0] != "a" {
			t.Errorf("alternative %d lets the pod into any zone: %v", i, term)
		}
	}
	if len(users.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms[0].MatchExpressions) != 1 {
		t.Error("the spec itself was changed")
	}
}
