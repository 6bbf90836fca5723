// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	"fmt"

	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// volume is what a claim is made from. Nil: there is none.
// +k8s:openapi-gen=false
type volume struct {
	capacity resource.Quantity
	class    *string
}

func volumeOf(persistence *PersistenceSpec) *volume {
	if persistence == nil {
		return nil
	}
	return &volume{persistence.Capacity, persistence.StorageClassName}
}

func sentinelVolumeOf(persistence *SentinelPersistenceSpec) *volume {
	if persistence == nil {
		return nil
	}
	return &volume{persistence.Capacity, persistence.StorageClassName}
}

// A claim's template is fixed when the claim is made, so most of it cannot follow a change.
func persistenceChangeErrors(path *field.Path, wanted, old *volume, wayOut string) field.ErrorList {
	switch {
	case wanted == nil && old == nil:
		return nil
	case old == nil:
		return field.ErrorList{field.Forbidden(path, "may not be added, there is none now; "+wayOut)}
	case wanted == nil:
		return field.ErrorList{field.Forbidden(path, fmt.Sprintf(
			"may not be removed, its size is %s now; %s", old.capacity.String(), wayOut))}
	}
	var errs field.ErrorList
	if wanted.capacity.Cmp(old.capacity) < 0 {
		errs = append(errs, field.Forbidden(path.Child("size"), fmt.Sprintf(
			"may not shrink, it is %s now; %s", old.capacity.String(), wayOut)))
	}
	if current, class := className(old.class), className(wanted.class); current != class {
		errs = append(errs, field.Forbidden(path.Child("storageClassName"), fmt.Sprintf(
			"may not change, it is %s now; %s", current, wayOut)))
	}
	return errs
}

func className(name *string) string {
	if name == nil {
		return "the cluster's default"
	}
	return fmt.Sprintf("%q", *name)
}

// classErrors is about the name of a class; empty is a claim without one.
func classErrors(path *field.Path, wanted, old *volume) field.ErrorList {
	if wanted == nil || wanted.class == nil {
		return nil
	}
	before := ""
	if old != nil && old.class != nil {
		before = *old.class
	}
	return objectNameErrors(path, *wanted.class, before)
}

func capacityErrors(path *field.Path, wanted, old *volume) field.ErrorList {
	if wanted == nil || wanted.capacity.Sign() > 0 || old != nil && wanted.capacity.Cmp(old.capacity) == 0 {
		return nil
	}
	return field.ErrorList{field.Invalid(path, wanted.capacity.String(), "must be greater than 0")}
}
