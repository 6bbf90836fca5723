// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package valkey

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object

// ValkeyNode is one server pod with its workload, volume and Service: infrastructure only. It decides nothing about replication.
type ValkeyNode struct {
	metav1.TypeMeta
	metav1.ObjectMeta

	Spec   ValkeyNodeSpec
	Status ValkeyNodeStatus
}

// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object

// ValkeyNodeList is a list of ValkeyNodes.
type ValkeyNodeList struct {
	metav1.TypeMeta
	metav1.ListMeta
	Items []ValkeyNode
}

// ValkeyNodeSpec is what is wanted of one node.
type ValkeyNodeSpec struct {
	Valkey                        string
	Image                         string
	ImagePullSecrets              []corev1.LocalObjectReference
	WorkloadType                  WorkloadType
	Resources                     corev1.ResourceRequirements
	Scheduling                    SchedulingSpec
	Persistence                   *PersistenceSpec
	Exporter                      ExporterSpec
	ServerConfigMapName           string
	UsersACLSecretName            string
	SystemPasswordsSecretName     string
	TLS                           *TLSSpec
	Containers                    []corev1.Container
	Config                        map[string]string
	PodSecurityContext            *corev1.PodSecurityContext
	TerminationGracePeriodSeconds *int64
	PodLabels                     map[string]string
	PodAnnotations                map[string]string
	WorkloadRevision              string
}

// ValkeyNodeStatus is what is, as last seen by the controller.
type ValkeyNodeStatus struct {
	Ready              bool
	PodName            string
	PodIP              string
	Role               Role
	ReplicaOf          string
	WorkloadRevision   string
	PendingRevision    string
	ObservedGeneration int64
	Conditions         []metav1.Condition
}
