// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	"context"
	"fmt"
	"regexp"

	apiequality "k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/operation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// The functions of this file and of validation_value.go are called by the generated validation, and only where the value has
// changed: an object that was stored under older rules can still be updated elsewhere. What they check within an unchanged part
// they skip themselves. On create the old value is nil, and what is in it counts as empty.

const (
	wayOutOfFixed = "to change it, make another Valkey and move the data there"
	// The Sentinels of a new set learn everything from the Valkeys: nothing is lost with the old ones.
	wayOutOfFixedSentinel = "to change it, make another ValkeySentinel with the same selector and delete this one"
	wayOutOfFixedNode     = "to change it, make another ValkeyNode"
)

// anything else would corrupt the file in which a Sentinel keeps its monitors.
var monitorName = regexp.MustCompile(`^[A-Za-z0-9._-]+$`)

// ValidateCustom_ValkeySpec checks what the tags cannot express.
func ValidateCustom_ValkeySpec(_ context.Context, _ operation.Operation, path *field.Path, spec, old *ValkeySpec) field.ErrorList {
	var errs field.ErrorList
	if old != nil {
		errs = append(errs, fixedErrors(path.Child("workloadType"), spec.WorkloadType, old.WorkloadType, wayOutOfFixed)...)
		errs = append(errs, persistenceChangeErrors(path.Child("persistence"), volumeOf(spec.Persistence), volumeOf(old.Persistence), wayOutOfFixed)...)
	} else {
		old = &ValkeySpec{}
	}
	errs = append(errs, failoverErrors(path.Child("failover"), &spec.Failover, &old.Failover)...)
	errs = append(errs, deploymentErrors(path, spec, old)...)
	errs = append(errs, networkPolicyErrors(path.Child("networking", "networkPolicy"), spec.Networking.NetworkPolicy, old.Networking.NetworkPolicy)...)
	errs = append(errs, tlsErrors(path.Child("networking", "tls"), spec.Networking.TLS, old.Networking.TLS, portValkey)...)
	errs = append(errs, imageErrors(path.Child("image"), spec.Image, old.Image)...)
	errs = append(errs, pullSecretErrors(path.Child("imagePullSecrets"), spec.ImagePullSecrets, old.ImagePullSecrets)...)
	errs = append(errs, resourceErrors(path.Child("resources"), &spec.Resources, &old.Resources)...)
	errs = append(errs, schedulingErrors(path.Child("scheduling"), &spec.Scheduling, &old.Scheduling)...)
	errs = append(errs, exporterErrors(path.Child("exporter"), &spec.Exporter, &old.Exporter)...)
	errs = append(errs, directiveErrors(path.Child("config"), spec.Config, old.Config)...)
	errs = append(errs, durationErrors(path.Child("rollingUpdate", "syncTimeout"), spec.RollingUpdate.SyncTimeout, old.RollingUpdate.SyncTimeout)...)
	errs = append(errs, containerErrors(path.Child("containers"), spec.Containers, old.Containers)...)
	errs = append(errs, labelErrors(path.Child("podLabels"), spec.PodLabels, old.PodLabels)...)
	errs = append(errs, annotationErrors(path.Child("podAnnotations"), spec.PodAnnotations, old.PodAnnotations)...)
	return errs
}

// ValidateCustom_ValkeySentinelSpec checks what the tags cannot express.
func ValidateCustom_ValkeySentinelSpec(_ context.Context, _ operation.Operation, path *field.Path, spec, old *ValkeySentinelSpec) field.ErrorList {
	var errs field.ErrorList
	if old != nil {
		errs = append(errs, persistenceChangeErrors(path.Child("persistence"), sentinelVolumeOf(spec.Persistence), sentinelVolumeOf(old.Persistence), wayOutOfFixedSentinel)...)
	} else {
		old = &ValkeySentinelSpec{}
	}
	if spec.ValkeySelector != nil && !apiequality.Semantic.DeepEqual(spec.ValkeySelector, old.ValkeySelector) {
		errs = append(errs, metav1validation.ValidateLabelSelector(spec.ValkeySelector,
			metav1validation.LabelSelectorValidationOptions{}, path.Child("valkeySelector"))...)
	}
	errs = append(errs, imageErrors(path.Child("image"), spec.Image, old.Image)...)
	errs = append(errs, pullSecretErrors(path.Child("imagePullSecrets"), spec.ImagePullSecrets, old.ImagePullSecrets)...)
	errs = append(errs, resourceErrors(path.Child("resources"), &spec.Resources, &old.Resources)...)
	errs = append(errs, schedulingErrors(path.Child("scheduling"), &spec.Scheduling, &old.Scheduling)...)
	errs = append(errs, exporterErrors(path.Child("exporter"), &spec.Exporter, &old.Exporter)...)
	errs = append(errs, directiveErrors(path.Child("config"), spec.Config, old.Config)...)
	errs = append(errs, networkPolicyErrors(path.Child("networking", "networkPolicy"), spec.Networking.NetworkPolicy, old.Networking.NetworkPolicy)...)
	errs = append(errs, tlsErrors(path.Child("networking", "tls"), spec.Networking.TLS, old.Networking.TLS, portSentinel)...)
	errs = append(errs, containerErrors(path.Child("containers"), spec.Containers, old.Containers)...)
	errs = append(errs, labelErrors(path.Child("podLabels"), spec.PodLabels, old.PodLabels)...)
	errs = append(errs, annotationErrors(path.Child("podAnnotations"), spec.PodAnnotations, old.PodAnnotations)...)
	wanted, before := sentinelVolumeOf(spec.Persistence), sentinelVolumeOf(old.Persistence)
	errs = append(errs, capacityErrors(path.Child("persistence", "size"), wanted, before)...)
	errs = append(errs, classErrors(path.Child("persistence", "storageClassName"), wanted, before)...)
	return errs
}

// ValidateCustom_ValkeyNodeSpec checks what the tags cannot express.
func ValidateCustom_ValkeyNodeSpec(_ context.Context, _ operation.Operation, path *field.Path, spec, old *ValkeyNodeSpec) field.ErrorList {
	var errs field.ErrorList
	if old != nil {
		errs = append(errs, fixedErrors(path.Child("valkey"), spec.Valkey, old.Valkey, wayOutOfFixedNode)...)
		errs = append(errs, fixedErrors(path.Child("workloadType"), spec.WorkloadType, old.WorkloadType, wayOutOfFixed)...)
		errs = append(errs, persistenceChangeErrors(path.Child("persistence"), volumeOf(spec.Persistence), volumeOf(old.Persistence), wayOutOfFixed)...)
	} else {
		old = &ValkeyNodeSpec{}
	}
	if deploysVolume(spec.WorkloadType, spec.Persistence) && !deploysVolume(old.WorkloadType, old.Persistence) {
		errs = append(errs, field.Forbidden(path.Child("persistence"), "not with workloadType Deployment"))
	}
	if asksCertManager(spec.TLS) && !asksCertManager(old.TLS) {
		errs = append(errs, field.Forbidden(path.Child("tls", "certManager"), "a node asks nobody for a certificate: name its Secret in secretName"))
	}
	errs = append(errs, imageErrors(path.Child("image"), spec.Image, old.Image)...)
	errs = append(errs, pullSecretErrors(path.Child("imagePullSecrets"), spec.ImagePullSecrets, old.ImagePullSecrets)...)
	errs = append(errs, resourceErrors(path.Child("resources"), &spec.Resources, &old.Resources)...)
	errs = append(errs, schedulingErrors(path.Child("scheduling"), &spec.Scheduling, &old.Scheduling)...)
	errs = append(errs, exporterErrors(path.Child("exporter"), &spec.Exporter, &old.Exporter)...)
	errs = append(errs, directiveErrors(path.Child("config"), spec.Config, old.Config)...)
	errs = append(errs, containerErrors(path.Child("containers"), spec.Containers, old.Containers)...)
	errs = append(errs, labelErrors(path.Child("podLabels"), spec.PodLabels, old.PodLabels)...)
	errs = append(errs, annotationErrors(path.Child("podAnnotations"), spec.PodAnnotations, old.PodAnnotations)...)
	return errs
}

func asksCertManager(tls *TLSSpec) bool { return tls.Asked() != nil }

// ValidateCustom_PersistenceSpec checks what the tags cannot express.
func ValidateCustom_PersistenceSpec(_ context.Context, _ operation.Operation, path *field.Path, spec, old *PersistenceSpec) field.ErrorList {
	wanted, before := volumeOf(spec), volumeOf(old)
	return append(capacityErrors(path.Child("size"), wanted, before), classErrors(path.Child("storageClassName"), wanted, before)...)
}

func failoverErrors(path *field.Path, failover, old *FailoverSpec) field.ErrorList {
	var errs field.ErrorList
	if sentinel := failover.Sentinel; sentinel != nil {
		previous := old.Sentinel
		if failover.Mode != FailoverModeSentinel && (previous == nil || old.Mode != failover.Mode) {
			errs = append(errs, field.Forbidden(path.Child("sentinel"), "only with failover.mode Sentinel"))
		}
		if previous == nil {
			previous = &SentinelFailoverSpec{MonitorName: sentinel.MonitorName}
			errs = append(errs, monitorNameErrors(path.Child("sentinel", "monitorName"), sentinel.MonitorName)...)
		}
		if sentinel.MonitorName != previous.MonitorName {
			errs = append(errs, field.Forbidden(path.Child("sentinel", "monitorName"), fmt.Sprintf(
				"may not change, it is %q now and clients ask the Sentinels for it; to change it, take the sentinel block out, then put it back with another name",
				previous.MonitorName)))
		}
		errs = append(errs, directiveErrors(path.Child("sentinel", "config"), sentinel.Config, previous.Config)...)
		errs = append(errs, monitorSettingErrors(path.Child("sentinel", "config"), sentinel.Config, previous.Config)...)
	}
	if operator := failover.Operator; operator != nil {
		var previous *metav1.Duration
		if old.Operator != nil {
			previous = old.Operator.DownAfter
		}
		errs = append(errs, durationErrors(path.Child("operator", "downAfter"), operator.DownAfter, previous)...)
	}
	return errs
}

func monitorNameErrors(path *field.Path, name string) field.ErrorList {
	if name == "" || monitorName.MatchString(name) {
		return nil
	}
	return field.ErrorList{field.Invalid(path, name, `only letters, digits, ".", "-" and "_" are allowed`)}
}

func deploymentErrors(path *field.Path, spec, old *ValkeySpec) field.ErrorList {
	var errs field.ErrorList
	if spec.WorkloadType != WorkloadTypeDeployment {
		return nil
	}
	if spec.Replicas > 0 && (old.WorkloadType != WorkloadTypeDeployment || spec.Replicas != old.Replicas) {
		errs = append(errs, field.Invalid(path.Child("replicas"), spec.Replicas, "must be 0 with workloadType Deployment"))
	}
	if deploysVolume(spec.WorkloadType, spec.Persistence) && !deploysVolume(old.WorkloadType, old.Persistence) {
		errs = append(errs, field.Forbidden(path.Child("persistence"), "not with workloadType Deployment"))
	}
	return errs
}

func deploysVolume(workload WorkloadType, persistence *PersistenceSpec) bool {
	return workload == WorkloadTypeDeployment && persistence != nil
}

// A tag says no more than that a field is immutable, neither what it is nor what to do.
func fixedErrors[T ~string](path *field.Path, value, old T, wayOut string) field.ErrorList {
	if value == old {
		return nil
	}
	return field.ErrorList{field.Forbidden(path, fmt.Sprintf("may not change, it is %q now; %s", old, wayOut))}
}
