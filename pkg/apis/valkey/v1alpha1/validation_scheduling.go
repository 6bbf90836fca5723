// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// schedulingErrors says at once what the core API would refuse when the pods are made; only affinity is left to it. Entries that were
// there before are left alone.
func schedulingErrors(path *field.Path, scheduling, old *SchedulingSpec) field.ErrorList {
	errs := labelErrors(path.Child("nodeSelector"), scheduling.NodeSelector, old.NodeSelector)
	errs = append(errs, objectNameErrors(path.Child("priorityClassName"), scheduling.PriorityClassName, old.PriorityClassName)...)
	for i := range scheduling.Tolerations {
		if !isThere(scheduling.Tolerations[i], old.Tolerations) {
			errs = append(errs, tolerationErrors(path.Child("tolerations").Index(i), &scheduling.Tolerations[i])...)
		}
	}
	for i := range scheduling.TopologySpreadConstraints {
		if !isThere(scheduling.TopologySpreadConstraints[i], old.TopologySpreadConstraints) {
			errs = append(errs, spreadErrors(path.Child("topologySpreadConstraints").Index(i), &scheduling.TopologySpreadConstraints[i])...)
		}
	}
	if pinning := scheduling.Zone.Pinning; pinning != nil {
		var before []string
		if old.Zone.Pinning != nil {
			before = old.Zone.Pinning.Zones
		}
		for i, zone := range pinning.Zones {
			if slices.Contains(before, zone) {
				continue
			}
			for _, message := range validation.IsValidLabelValue(zone) {
				errs = append(errs, field.Invalid(path.Child("zone", "pinning", "zones").Index(i), zone, message))
			}
		}
	}
	return errs
}

func isThere[T any](entry T, among []T) bool {
	return slices.ContainsFunc(among, func(other T) bool { return apiequality.Semantic.DeepEqual(entry, other) })
}

var (
	tolerationOperators = []corev1.TolerationOperator{
		corev1.TolerationOpEqual, corev1.TolerationOpExists, corev1.TolerationOpGt, corev1.TolerationOpLt,
	}
	taintEffects   = []corev1.TaintEffect{corev1.TaintEffectNoExecute, corev1.TaintEffectNoSchedule, corev1.TaintEffectPreferNoSchedule}
	unsatisfiables = []corev1.UnsatisfiableConstraintAction{corev1.DoNotSchedule, corev1.ScheduleAnyway}
)

func tolerationErrors(path *field.Path, toleration *corev1.Toleration) field.ErrorList {
	var errs field.ErrorList
	if toleration.Key != "" {
		errs = append(errs, metav1validation.ValidateLabelName(toleration.Key, path.Child("key"))...)
	}
	switch operator := toleration.Operator; {
	case operator != "" && !slices.Contains(tolerationOperators, operator):
		errs = append(errs, field.NotSupported(path.Child("operator"), operator, tolerationOperators))
	case toleration.Key == "" && operator != corev1.TolerationOpExists:
		errs = append(errs, field.Required(path.Child("key"), "without it the operator must be Exists"))
	case toleration.Value != "" && operator == corev1.TolerationOpExists:
		errs = append(errs, field.Invalid(path.Child("value"), toleration.Value, "must be empty with the operator Exists"))
	}
	if toleration.Effect != "" && !slices.Contains(taintEffects, toleration.Effect) {
		errs = append(errs, field.NotSupported(path.Child("effect"), toleration.Effect, taintEffects))
	}
	return errs
}

func spreadErrors(path *field.Path, constraint *corev1.TopologySpreadConstraint) field.ErrorList {
	var errs field.ErrorList
	if constraint.MaxSkew <= 0 {
		errs = append(errs, field.Invalid(path.Child("maxSkew"), constraint.MaxSkew, "must be greater than 0"))
	}
	if constraint.TopologyKey == "" {
		errs = append(errs, field.Required(path.Child("topologyKey"), ""))
	} else {
		errs = append(errs, metav1validation.ValidateLabelName(constraint.TopologyKey, path.Child("topologyKey"))...)
	}
	if !slices.Contains(unsatisfiables, constraint.WhenUnsatisfiable) {
		errs = append(errs, field.NotSupported(path.Child("whenUnsatisfiable"), constraint.WhenUnsatisfiable, unsatisfiables))
	}
	return errs
}

// objectNameErrors is about the name of an object that others make; empty is none.
func objectNameErrors(path *field.Path, name, old string) field.ErrorList {
	if name == "" || name == old {
		return nil
	}
	var errs field.ErrorList
	for _, message := range apivalidation.NameIsDNSSubdomain(name, false) {
		errs = append(errs, field.Invalid(path, name, message))
	}
	return errs
}

func pullSecretErrors(path *field.Path, secrets, old []corev1.LocalObjectReference) field.ErrorList {
	var errs field.ErrorList
	for i, secret := range secrets {
		if !slices.Contains(old, secret) {
			errs = append(errs, objectNameErrors(path.Index(i).Child("name"), secret.Name, "")...)
		}
	}
	return errs
}
