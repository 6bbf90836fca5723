// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package desired

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"

	"github.com/valkeykube/valkeykube/pkg/apis/valkey/v1alpha1"
)

// withScheduling says where the pod may run. set selects the pods of the whole set; without it nothing spreads.
func withScheduling(spec *corev1ac.PodSpecApplyConfiguration, scheduling v1alpha1.SchedulingSpec, set map[string]string) {
	spec.WithTolerations(converted[corev1ac.TolerationApplyConfiguration](scheduling.Tolerations)...)
	if len(scheduling.NodeSelector) > 0 {
		spec.WithNodeSelector(scheduling.NodeSelector)
	}
	if scheduling.PriorityClassName != "" {
		spec.WithPriorityClassName(scheduling.PriorityClassName)
	}
	if affinity := affinity(scheduling, set); affinity != nil {
		applied := corev1ac.Affinity()
		overlay(applied, affinity)
		spec.WithAffinity(applied)
	}
	spec.WithTopologySpreadConstraints(converted[corev1ac.TopologySpreadConstraintApplyConfiguration](spreadConstraints(scheduling, set))...)
}

// affinity is the user's, with the pinning to zones, and with the rule that no two pods of the set share a node where that is required.
// A spread constraint cannot say that: it lets a second pod onto a node once every node has one.
func affinity(scheduling v1alpha1.SchedulingSpec, set map[string]string) *corev1.Affinity {
	var merged corev1.Affinity
	if scheduling.Affinity != nil {
		merged = *scheduling.Affinity.DeepCopy()
	}
	if pinning := scheduling.Zone.Pinning; pinning != nil && len(pinning.Zones) > 0 {
		pinToZones(&merged, pinning.Zones)
	}
	if scheduling.Node.Spread.Pods.Mode == v1alpha1.SpreadRequired && len(set) > 0 {
		if merged.PodAntiAffinity == nil {
			merged.PodAntiAffinity = &corev1.PodAntiAffinity{}
		}
		required := &merged.PodAntiAffinity.RequiredDuringSchedulingIgnoredDuringExecution
		*required = append(*required, corev1.PodAffinityTerm{
			LabelSelector: &metav1.LabelSelector{MatchLabels: set},
			TopologyKey:   corev1.LabelHostname,
		})
	}
	if merged == (corev1.Affinity{}) {
		return nil
	}
	return &merged
}

// pinToZones demands one of the zones in every alternative of the required node affinity: the alternatives are joined by "or".
func pinToZones(affinity *corev1.Affinity, zones []string) {
	if affinity.NodeAffinity == nil {
		affinity.NodeAffinity = &corev1.NodeAffinity{}
	}
	required := affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution
	if required == nil {
		required = &corev1.NodeSelector{}
		affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution = required
	}
	if len(required.NodeSelectorTerms) == 0 {
		required.NodeSelectorTerms = []corev1.NodeSelectorTerm{{}}
	}
	for i := range required.NodeSelectorTerms {
		term := &required.NodeSelectorTerms[i]
		term.MatchExpressions = append(term.MatchExpressions, corev1.NodeSelectorRequirement{
			Key: corev1.LabelTopologyZone, Operator: corev1.NodeSelectorOpIn, Values: zones,
		})
	}
}

// spreadConstraints are the user's, those without a selector completed with the set's, and behind them the ones that the modes ask for.
// The user's go first: two constraints with the same key cannot both be in the list.
func spreadConstraints(scheduling v1alpha1.SchedulingSpec, set map[string]string) []corev1.TopologySpreadConstraint {
	var constraints []corev1.TopologySpreadConstraint
	taken := map[string]bool{}
	for i := range scheduling.TopologySpreadConstraints {
		constraint := *scheduling.TopologySpreadConstraints[i].DeepCopy()
		if constraint.LabelSelector == nil && len(set) > 0 {
			constraint.LabelSelector = &metav1.LabelSelector{MatchLabels: set}
		}
		taken[constraint.TopologyKey] = true
		constraints = append(constraints, constraint)
	}
	if len(set) == 0 {
		return constraints
	}
	add := func(key string, unsatisfiable corev1.UnsatisfiableConstraintAction) {
		if !taken[key] {
			constraints = append(constraints, corev1.TopologySpreadConstraint{
				MaxSkew: 1, TopologyKey: key, WhenUnsatisfiable: unsatisfiable, LabelSelector: &metav1.LabelSelector{MatchLabels: set},
			})
		}
	}
	if mode := scheduling.Node.Spread.Pods.Mode; mode == v1alpha1.SpreadPreferred || mode == "" {
		add(corev1.LabelHostname, corev1.ScheduleAnyway)
	}
	switch scheduling.Zone.Spread.Pods.Mode {
	case v1alpha1.SpreadPreferred, "":
		add(corev1.LabelTopologyZone, corev1.ScheduleAnyway)
	case v1alpha1.SpreadRequired:
		add(corev1.LabelTopologyZone, corev1.DoNotSchedule)
	case v1alpha1.SpreadDisabled:
	}
	return constraints
}
