// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package valkey

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object

// ValkeySentinel is a Sentinel quorum that watches the Valkeys it selects by label, and fails them over.
type ValkeySentinel struct {
	metav1.TypeMeta
	metav1.ObjectMeta

	Spec   ValkeySentinelSpec
	Status ValkeySentinelStatus
}

// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object

// ValkeySentinelList is a list of ValkeySentinels.
type ValkeySentinelList struct {
	metav1.TypeMeta
	metav1.ListMeta
	Items []ValkeySentinel
}

// ValkeySentinelSpec is what a person wants of a Sentinel quorum.
type ValkeySentinelSpec struct {
	Replicas            int32
	ValkeySelector      *metav1.LabelSelector
	Config              map[string]string
	Image               string
	ImagePullSecrets    []corev1.LocalObjectReference
	Resources           corev1.ResourceRequirements
	Scheduling          SchedulingSpec
	Users               []UserSpec
	Exporter            ExporterSpec
	Persistence         *SentinelPersistenceSpec
	Containers          []corev1.Container
	Networking          NetworkingSpec
	PodDisruptionBudget PodDisruptionBudgetSpec
	PodSecurityContext  *corev1.PodSecurityContext
	PodLabels           map[string]string
	PodAnnotations      map[string]string
}

// SentinelPersistenceSpec is the volume of a Sentinel.
type SentinelPersistenceSpec struct {
	Capacity         resource.Quantity
	StorageClassName *string
	ReclaimPolicy    PersistentVolumeReclaim
}

// ValkeySentinelStatus is what is, as last seen by the controller.
type ValkeySentinelStatus struct {
	State              State
	Reason             string
	Message            string
	Replicas           int32
	ReadyReplicas      int32
	Selector           string
	Monitors           []MonitorStatus
	ObservedGeneration int64
	Conditions         []metav1.Condition
}

// MonitorStatus is one monitored Valkey, as the Sentinels see it.
type MonitorStatus struct {
	Name           string
	Valkey         string
	PrimaryAddress string
	Quorum         int32
	OK             bool
	OKMessage      string
	Replicas       int32
	Sentinels      int32
	Flags          string
	RegisteredOn   int32
}
