// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	"context"
	"fmt"
	"regexp"

	"k8s.io/apimachinery/pkg/api/operation"
	"k8s.io/apimachinery/pkg/api/resource"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// The functions of this file are called by the generated validation, and only where the value has changed: an object that
// was stored under older rules can still be updated elsewhere. What they check within an unchanged part they skip
// themselves. On create the old value is nil.

const wayOutOfPersistence = "to change it, make another Valkey and move the data there"

// anything else would corrupt the file in which a Sentinel keeps its monitors.
var monitorName = regexp.MustCompile(`^[A-Za-z0-9._-]+$`)

// ValidateCustom_ValkeySpec checks what the tags cannot express.
func ValidateCustom_ValkeySpec(_ context.Context, _ operation.Operation, path *field.Path, spec, old *ValkeySpec) field.ErrorList {
	var errs field.ErrorList
	updating := old != nil
	if !updating {
		old = &ValkeySpec{}
	}
	errs = append(errs, failoverErrors(path.Child("failover"), &spec.Failover, &old.Failover)...)
	errs = append(errs, deploymentErrors(path, spec)...)
	if updating {
		errs = append(errs, persistenceChangeErrors(path.Child("persistence"), spec.Persistence, old.Persistence)...)
	}
	errs = append(errs, imageErrors(path.Child("image"), spec.Image, old.Image)...)
	errs = append(errs, exporterErrors(path.Child("exporter"), &spec.Exporter, &old.Exporter)...)
	errs = append(errs, directiveErrors(path.Child("config"), spec.Config, old.Config)...)
	errs = append(errs, durationErrors(path.Child("rollingUpdate", "syncTimeout"), spec.RollingUpdate.SyncTimeout)...)
	errs = append(errs, podMetadataErrors(path, spec.PodLabels, spec.PodAnnotations)...)
	return errs
}

// ValidateCustom_ValkeySentinelSpec checks what the tags cannot express.
func ValidateCustom_ValkeySentinelSpec(_ context.Context, _ operation.Operation, path *field.Path, spec, old *ValkeySentinelSpec) field.ErrorList {
	var errs field.ErrorList
	if old == nil {
		old = &ValkeySentinelSpec{}
	}
	if spec.ValkeySelector != nil {
		errs = append(errs, metav1validation.ValidateLabelSelector(spec.ValkeySelector,
			metav1validation.LabelSelectorValidationOptions{}, path.Child("valkeySelector"))...)
	}
	errs = append(errs, imageErrors(path.Child("image"), spec.Image, old.Image)...)
	errs = append(errs, exporterErrors(path.Child("exporter"), &spec.Exporter, &old.Exporter)...)
	errs = append(errs, directiveErrors(path.Child("config"), spec.Config, old.Config)...)
	errs = append(errs, podMetadataErrors(path, spec.PodLabels, spec.PodAnnotations)...)
	if persistence := spec.Persistence; persistence != nil {
		errs = append(errs, capacityErrors(path.Child("persistence", "size"), persistence.Capacity)...)
	}
	return errs
}

// ValidateCustom_ValkeyNodeSpec checks what the tags cannot express.
func ValidateCustom_ValkeyNodeSpec(_ context.Context, _ operation.Operation, path *field.Path, spec, old *ValkeyNodeSpec) field.ErrorList {
	var errs field.ErrorList
	updating := old != nil
	if !updating {
		old = &ValkeyNodeSpec{}
	}
	if spec.WorkloadType == WorkloadTypeDeployment && spec.Persistence != nil {
		errs = append(errs, field.Forbidden(path.Child("persistence"), "not with workloadType Deployment"))
	}
	if updating {
		errs = append(errs, persistenceChangeErrors(path.Child("persistence"), spec.Persistence, old.Persistence)...)
	}
	errs = append(errs, imageErrors(path.Child("image"), spec.Image, old.Image)...)
	errs = append(errs, exporterErrors(path.Child("exporter"), &spec.Exporter, &old.Exporter)...)
	errs = append(errs, directiveErrors(path.Child("config"), spec.Config, old.Config)...)
	errs = append(errs, podMetadataErrors(path, spec.PodLabels, spec.PodAnnotations)...)
	return errs
}

// ValidateCustom_PersistenceSpec checks what the tags cannot express.
func ValidateCustom_PersistenceSpec(_ context.Context, _ operation.Operation, path *field.Path, spec, _ *PersistenceSpec) field.ErrorList {
	return capacityErrors(path.Child("size"), spec.Capacity)
}

func failoverErrors(path *field.Path, failover, old *FailoverSpec) field.ErrorList {
	var errs field.ErrorList
	if sentinel := failover.Sentinel; sentinel != nil {
		previous := old.Sentinel
		if previous == nil {
			previous = &SentinelFailoverSpec{MonitorName: sentinel.MonitorName}
			errs = append(errs, monitorNameErrors(path.Child("sentinel", "monitorName"), sentinel.MonitorName)...)
		}
		if failover.Mode != FailoverModeSentinel {
			errs = append(errs, field.Forbidden(path.Child("sentinel"), "only with failover.mode Sentinel"))
		}
		if sentinel.MonitorName != previous.MonitorName {
			errs = append(errs, field.Forbidden(path.Child("sentinel", "monitorName"), fmt.Sprintf(
				"may not change while the sentinel block exists: it is %q, and clients ask the Sentinels for it", previous.MonitorName)))
		}
		errs = append(errs, directiveErrors(path.Child("sentinel", "config"), sentinel.Config, previous.Config)...)
	}
	if operator := failover.Operator; operator != nil {
		errs = append(errs, durationErrors(path.Child("operator", "downAfter"), operator.DownAfter)...)
	}
	return errs
}

func monitorNameErrors(path *field.Path, name string) field.ErrorList {
	if name == "" || monitorName.MatchString(name) {
		return nil
	}
	return field.ErrorList{field.Invalid(path, name, `only letters, digits, ".", "-" and "_" are allowed`)}
}

func deploymentErrors(path *field.Path, spec *ValkeySpec) field.ErrorList {
	var errs field.ErrorList
	if spec.WorkloadType != WorkloadTypeDeployment {
		return nil
	}
	if spec.Replicas > 0 {
		errs = append(errs, field.Invalid(path.Child("replicas"), spec.Replicas, "must be 0 with workloadType Deployment"))
	}
	if spec.Persistence != nil {
		errs = append(errs, field.Forbidden(path.Child("persistence"), "not with workloadType Deployment"))
	}
	return errs
}

// A claim's template is fixed when the claim is made, so most of it cannot follow a change.
func persistenceChangeErrors(path *field.Path, spec, old *PersistenceSpec) field.ErrorList {
	switch {
	case spec == nil && old == nil:
		return nil
	case old == nil:
		return field.ErrorList{field.Forbidden(path, "may not be added, there is none now; "+wayOutOfPersistence)}
	case spec == nil:
		return field.ErrorList{field.Forbidden(path, fmt.Sprintf(
			"may not be removed, its size is %s now; %s", old.Capacity.String(), wayOutOfPersistence))}
	}
	var errs field.ErrorList
	if spec.Capacity.Cmp(old.Capacity) < 0 {
		errs = append(errs, field.Forbidden(path.Child("size"), fmt.Sprintf(
			"may not shrink, it is %s now; %s", old.Capacity.String(), wayOutOfPersistence)))
	}
	if current, wanted := className(old.StorageClassName), className(spec.StorageClassName); current != wanted {
		errs = append(errs, field.Forbidden(path.Child("storageClassName"), fmt.Sprintf(
			"may not change, it is %s now; %s", current, wayOutOfPersistence)))
	}
	return errs
}

func className(name *string) string {
	if name == nil {
		return "the cluster's default"
	}
	return fmt.Sprintf("%q", *name)
}

func capacityErrors(path *field.Path, capacity resource.Quantity) field.ErrorList {
	if capacity.Sign() > 0 {
		return nil
	}
	return field.ErrorList{field.Invalid(path, capacity.String(), "must be greater than 0")}
}

func podMetadataErrors(path *field.Path, labels, annotations map[string]string) field.ErrorList {
	return append(metav1validation.ValidateLabels(labels, path.Child("podLabels")),
		apivalidation.ValidateAnnotations(annotations, path.Child("podAnnotations"))...)
}
