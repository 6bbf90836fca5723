// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// resourceErrors says at once what the core API would refuse when the pods are made. Entries that were there before are left alone.
func resourceErrors(path *field.Path, resources, old *corev1.ResourceRequirements) field.ErrorList {
	errs := quantityErrors(path.Child("limits"), resources.Limits, old.Limits)
	errs = append(errs, quantityErrors(path.Child("requests"), resources.Requests, old.Requests)...)
	for _, name := range resourceNames(resources.Requests) {
		request := resources.Requests[name]
		limit, limited := resources.Limits[name]
		if !limited || request.Cmp(limit) <= 0 || unchanged(name, resources.Requests, old.Requests) && unchanged(name, resources.Limits, old.Limits) {
			continue
		}
		errs = append(errs, field.Invalid(path.Child("requests").Key(string(name)), request.String(), "must not be more than the limit, which is "+limit.String()))
	}
	return errs
}

func quantityErrors(path *field.Path, list, old corev1.ResourceList) field.ErrorList {
	var errs field.ErrorList
	for _, name := range resourceNames(list) {
		if unchanged(name, list, old) {
			continue
		}
		if !isOfContainers(string(name)) {
			errs = append(errs, field.Invalid(path, string(name),
				"must be cpu, memory, ephemeral-storage, hugepages-<size>, or a name within a domain such as example.com/gpu"))
		}
		if quantity := list[name]; quantity.Sign() < 0 {
			errs = append(errs, field.Invalid(path.Key(string(name)), quantity.String(), "must not be negative"))
		}
	}
	return errs
}

func isOfContainers(name string) bool {
	switch corev1.ResourceName(name) {
	case corev1.ResourceCPU, corev1.ResourceMemory, corev1.ResourceEphemeralStorage:
		return true
	}
	return strings.HasPrefix(name, corev1.ResourceHugePagesPrefix) || strings.Contains(name, "/") && len(validation.IsQualifiedName(name)) == 0
}

func resourceNames(list corev1.ResourceList) []corev1.ResourceName {
	names := make([]corev1.ResourceName, 0, len(list))
	for name := range list {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

func unchanged(name corev1.ResourceName, list, old corev1.ResourceList) bool {
	quantity, has := list[name]
	previous, had := old[name]
	return has == had && quantity.Cmp(previous) == 0
}
