// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package desired

import (
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	metav1ac "k8s.io/client-go/applyconfigurations/meta/v1"
	policyv1ac "k8s.io/client-go/applyconfigurations/policy/v1"

	"github.com/valkeykube/valkeykube/pkg/apis/valkey/v1alpha1"
	"github.com/valkeykube/valkeykube/pkg/naming"
)

// ValkeyBudget is the PodDisruptionBudget over all pods of a Valkey, and nil where the spec switches it off. members is how many pods
// there are or shall be.
//
// It says how many must stay, not how many may go: the pods belong to a StatefulSet each, and for a number that may go the disruption
// controller would add up what those want, which is 1 for each, and could then allow more than one at a time. An unhealthy pod may always
// be evicted, or a drain would wait for it for ever.
func ValkeyBudget(valkey *v1alpha1.Valkey, members int) *policyv1ac.PodDisruptionBudgetApplyConfiguration {
	budget := valkey.Spec.PodDisruptionBudget
	if budget.Mode == v1alpha1.PodDisruptionBudgetDisabled {
		return nil
	}
	return policyv1ac.PodDisruptionBudget(naming.ValkeyPDB(valkey.Name), valkey.Namespace).
		WithLabels(naming.ValkeyLabels(valkey.Name)).
		WithOwnerReferences(OwnerReference(KindValkey, valkey)).
		WithSpec(policyv1ac.PodDisruptionBudgetSpec().
			WithMinAvailable(intstr.FromInt(max(0, members-maxUnavailable(budget.MaxUnavailable, members)))).
			WithSelector(metav1ac.LabelSelector().WithMatchLabels(naming.ValkeySelector(valkey.Name))).
			WithUnhealthyPodEvictionPolicy(policyv1.AlwaysAllow))
}

// maxUnavailable is how many of the members may be away: 1 where nothing is said. A percentage is rounded up, as Kubernetes does; one that
// cannot be read, which the API refuses, counts as 1.
func maxUnavailable(limit *intstr.IntOrString, members int) int {
	if limit == nil {
		return 1
	}
	scaled, err := intstr.GetScaledValueFromIntOrPercent(limit, members, true)
	if err != nil {
		return 1
	}
	return scaled
}
