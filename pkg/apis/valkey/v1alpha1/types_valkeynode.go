// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// +genclient
// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object
// +k8s:supportsSubresource="/status"

// ValkeyNode is one server pod with its workload, volume and Service: infrastructure only. It decides nothing about replication.
type ValkeyNode struct {
	metav1.TypeMeta `json:""`
	// Standard object's metadata.
	// +optional
	// +k8s:opaqueType
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec is what is wanted; the owning Valkey writes it.
	// +optional
	// +k8s:optional
	Spec ValkeyNodeSpec `json:"spec,omitempty"`
	// status is what is; only the controller writes it.
	// +optional
	// +k8s:optional
	Status ValkeyNodeStatus `json:"status,omitempty"`
}

// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object

// ValkeyNodeList is a list of ValkeyNodes.
type ValkeyNodeList struct {
	metav1.TypeMeta `json:""`
	// Standard list metadata.
	// +optional
	// +k8s:opaqueType
	metav1.ListMeta `json:"metadata,omitempty"`
	// items are the ValkeyNodes.
	Items []ValkeyNode `json:"items"`
}

// ValkeyNodeSpec is what is wanted of one node.
// +k8s:customValidation
type ValkeyNodeSpec struct {
	// valkey is the Valkey this node belongs to. Empty for a node that a person made by hand.
	// +optional
	// +k8s:optional
	// +k8s:immutable
	Valkey string `json:"valkey,omitempty"`
	// image of the server container. Default as for Valkey.
	// +optional
	// +k8s:optional
	Image string `json:"image,omitempty"`
	// imagePullSecrets are Secrets of this namespace used to pull the images.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +k8s:optional
	ImagePullSecrets []corev1.LocalObjectReference `json:"imagePullSecrets,omitempty"`
	// workloadType is StatefulSet (default) or Deployment. Immutable.
	// +optional
	// +default="StatefulSet"
	// +k8s:optional
	// +k8s:immutable
	WorkloadType WorkloadType `json:"workloadType,omitempty"`
	// resources of the server container.
	// +optional
	// +k8s:optional
	Resources corev1.ResourceRequirements `json:"resources,omitempty"`
	// scheduling says where the pod may run.
	// +optional
	// +k8s:optional
	Scheduling SchedulingSpec `json:"scheduling,omitempty"`
	// persistence gives the node a volume.
	// +optional
	// +k8s:optional
	Persistence *PersistenceSpec `json:"persistence,omitempty"`
	// exporter runs a Prometheus exporter beside the server.
	// +optional
	// +k8s:optional
	Exporter ExporterSpec `json:"exporter,omitempty"`
	// serverConfigMapName is the ConfigMap with the boot settings and the server's configuration. Default: one of the node's own.
	// +optional
	// +k8s:optional
	ServerConfigMapName string `json:"serverConfigMapName,omitempty"`
	// usersACLSecretName is the Secret with the ACL file.
	// +optional
	// +k8s:optional
	UsersACLSecretName string `json:"usersACLSecretName,omitempty"`
	// systemPasswordsSecretName is the Secret with the passwords of the product's own users.
	// +optional
	// +k8s:optional
	SystemPasswordsSecretName string `json:"systemPasswordsSecretName,omitempty"`
	// tls of the node.
	// +optional
	// +k8s:optional
	TLS *TLSSpec `json:"tls,omitempty"`
	// containers are merged by name into the pod's containers.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +patchMergeKey=name
	// +patchStrategy=merge
	// +k8s:optional
	Containers []corev1.Container `json:"containers,omitempty" patchStrategy:"merge" patchMergeKey:"name"`
	// config holds directives that are applied to the running server as well as at its start.
	// +optional
	// +k8s:optional
	Config map[string]string `json:"config,omitempty"`
	// podSecurityContext is merged over the default one.
	// +optional
	// +k8s:optional
	PodSecurityContext *corev1.PodSecurityContext `json:"podSecurityContext,omitempty"`
	// terminationGracePeriodSeconds of the pod, in seconds.
	// +optional
	// +k8s:optional
	// +k8s:minimum=1
	TerminationGracePeriodSeconds *int64 `json:"terminationGracePeriodSeconds,omitempty"`
	// podLabels are added to the pod.
	// +optional
	// +k8s:optional
	PodLabels map[string]string `json:"podLabels,omitempty"`
	// podAnnotations are added to the pod.
	// +optional
	// +k8s:optional
	PodAnnotations map[string]string `json:"podAnnotations,omitempty"`
	// workloadRevision is the revision of this spec that the owning Valkey has authorised. A change that would restart the pod waits
	// until its revision, shown in status.pendingRevision, is named here. The first pod needs none, and neither does a node made by hand.
	// +optional
	// +k8s:optional
	WorkloadRevision string `json:"workloadRevision,omitempty"`
}

// ValkeyNodeStatus is what is, as last seen by the controller.
type ValkeyNodeStatus struct {
	// ready is whether the pod is ready and the server answers.
	// +optional
	// +k8s:optional
	Ready bool `json:"ready,omitempty"`
	// podName of the node's pod.
	// +optional
	// +k8s:optional
	PodName string `json:"podName,omitempty"`
	// podIP of the node's pod.
	// +optional
	// +k8s:optional
	PodIP string `json:"podIP,omitempty"`
	// role the server reports.
	// +optional
	// +k8s:optional
	Role Role `json:"role,omitempty"`
	// replicaOf is host:port of the primary that the server follows.
	// +optional
	// +k8s:optional
	ReplicaOf string `json:"replicaOf,omitempty"`
	// workloadRevision is the revision of the pod template in force.
	// +optional
	// +k8s:optional
	WorkloadRevision string `json:"workloadRevision,omitempty"`
	// pendingRevision is a revision of the pod template that waits to be authorised in spec.workloadRevision.
	// +optional
	// +k8s:optional
	PendingRevision string `json:"pendingRevision,omitempty"`
	// observedGeneration is the generation of the spec that this status is about.
	// +optional
	// +k8s:optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	// conditions: Ready, PersistentVolumeClaimReady, PersistentVolumeClaimSizeReady, LiveConfigApplied, ACLApplied, WorkloadRollPending.
	// +optional
	// +listType=map
	// +listMapKey=type
	// +k8s:optional
	// +k8s:listType=map
	// +k8s:listMapKey=type
	// +k8s:eachVal=+k8s:opaqueType
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}
