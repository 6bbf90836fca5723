// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// networkPolicyErrors refuses clients with labels that no pod or namespace can have: the policy could not be made.
func networkPolicyErrors(path *field.Path, policy, old *NetworkPolicySpec) field.ErrorList {
	if policy == nil || old != nil && apiequality.Semantic.DeepEqual(policy.Clients, old.Clients) {
		return nil
	}
	var errs field.ErrorList
	for i, client := range policy.Clients {
		path := path.Child("clients").Index(i)
		errs = append(errs, labelErrors(path.Child("podLabels"), client.PodLabels, nil)...)
		errs = append(errs, labelErrors(path.Child("namespaceLabels"), client.NamespaceLabels, nil)...)
	}
	return errs
}

// idleNetworkPolicy are clients of a policy that is not made.
func idleNetworkPolicy(path *field.Path, policy *NetworkPolicySpec) []string {
	if policy == nil || policy.Enabled || len(policy.Clients) == 0 {
		return nil
	}
	return []string{warning(path.Child("clients"), "ignored: enabled is not set, and no policy is made")}
}
