// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
)

const (
	// DefaultImage is the server and Sentinel image where none is named.
	DefaultImage = "docker.io/valkey/valkey:8.1"
	// DefaultExporterImage is the exporter's image where none is named.
	DefaultExporterImage = "docker.io/oliver006/redis_exporter:v1.74.0"
	// DefaultDownAfter is how long the primary must be away before the controller promotes a replica.
	DefaultDownAfter = 10 * time.Second
	// DefaultSyncTimeout is how long a rolled node may take to be in sync again.
	DefaultSyncTimeout = 5 * time.Minute
	// DefaultSentinelReplicas is how many Sentinels run where no number is given.
	DefaultSentinelReplicas = 3
)

// What a constant can express is a +default tag at the field; here is the rest. These functions run before the tags of
// the same struct are applied, so they must not rely on those.
func addDefaultingFuncs(scheme *runtime.Scheme) error { return RegisterDefaults(scheme) }

// SetDefaults_ValkeySpec fills what depends on other fields.
func SetDefaults_ValkeySpec(spec *ValkeySpec) {
	if spec.Image == "" {
		spec.Image = DefaultImage
	}
	if spec.Failover.Mode == FailoverModeOperator {
		if spec.Failover.Operator == nil {
			spec.Failover.Operator = &OperatorFailoverSpec{}
		}
		if spec.Failover.Operator.DownAfter == nil {
			spec.Failover.Operator.DownAfter = &metav1.Duration{Duration: DefaultDownAfter}
		}
	}
	if spec.RollingUpdate.SyncTimeout == nil {
		spec.RollingUpdate.SyncTimeout = &metav1.Duration{Duration: DefaultSyncTimeout}
	}
	budget := &spec.PodDisruptionBudget
	if budget.Mode != PodDisruptionBudgetDisabled && budget.MaxUnavailable == nil {
		one := intstr.FromInt32(1)
		budget.MaxUnavailable = &one
	}
}

// SetDefaults_ValkeySentinelSpec fills what a tag cannot express.
func SetDefaults_ValkeySentinelSpec(spec *ValkeySentinelSpec) {
	if spec.Image == "" {
		spec.Image = DefaultImage
	}
}

// SetDefaults_ValkeyNodeSpec fills what a tag cannot express.
func SetDefaults_ValkeyNodeSpec(spec *ValkeyNodeSpec) {
	if spec.Image == "" {
		spec.Image = DefaultImage
	}
}

// SetDefaults_ExporterSpec names the image of an exporter that runs.
func SetDefaults_ExporterSpec(exporter *ExporterSpec) {
	if exporter.Enabled && exporter.Image == "" {
		exporter.Image = DefaultExporterImage
	}
}

// EffectiveMonitorName is the name under which the Sentinels monitor a Valkey: what it asks for, or its own name.
func EffectiveMonitorName(valkey *Valkey) string {
	if sentinel := valkey.Spec.Failover.Sentinel; sentinel != nil && sentinel.MonitorName != "" {
		return sentinel.MonitorName
	}
	return valkey.Name
}
