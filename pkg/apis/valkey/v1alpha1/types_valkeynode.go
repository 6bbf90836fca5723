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
	// +k8s:opaqueType
	metav1.TypeMeta `json:""`
	// Standard object's metadata.
	// +optional
	// +k8s:opaqueType
	metav1.ObjectMeta `json:"metadata,omitempty" protobuf:"bytes,1,opt,name=metadata"`

	// spec is what is wanted; the owning Valkey writes it.
	// +optional
	Spec ValkeyNodeSpec `json:"spec,omitempty,omitzero" protobuf:"bytes,2,opt,name=spec"`
	// status is what is; only the controller writes it.
	// +optional
	Status ValkeyNodeStatus `json:"status,omitempty,omitzero" protobuf:"bytes,3,opt,name=status"`
}

// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object

// ValkeyNodeList is a list of ValkeyNodes.
type ValkeyNodeList struct {
	// +k8s:opaqueType
	metav1.TypeMeta `json:""`
	// Standard list metadata.
	// +optional
	// +k8s:opaqueType
	metav1.ListMeta `json:"metadata,omitempty" protobuf:"bytes,1,opt,name=metadata"`
	// items are the ValkeyNodes.
	Items []ValkeyNode `json:"items" protobuf:"bytes,2,rep,name=items"`
}

// ValkeyNodeSpec is what is wanted of one node.
// +k8s:customValidation
type ValkeyNodeSpec struct {
	// valkey is the Valkey this node belongs to. Empty for a node that a person made by hand.
	// +optional
	// +k8s:optional
	Valkey string `json:"valkey,omitempty" protobuf:"bytes,1,opt,name=valkey"`
	// image of the server container. Default as for Valkey.
	// +optional
	// +k8s:optional
	Image string `json:"image,omitempty" protobuf:"bytes,2,opt,name=image"`
	// imagePullSecrets are Secrets of this namespace used to pull the images.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +patchMergeKey=name
	// +patchStrategy=merge
	// +k8s:optional
	// +k8s:listType=map
	// +k8s:listMapKey=name
	// +k8s:eachVal=+k8s:opaqueType
	ImagePullSecrets []corev1.LocalObjectReference `json:"imagePullSecrets,omitempty" patchStrategy:"merge" patchMergeKey:"name" protobuf:"bytes,3,rep,name=imagePullSecrets"`
	// workloadType is StatefulSet (default) or Deployment. Immutable.
	// +optional
	// +default="StatefulSet"
	// +k8s:optional
	WorkloadType WorkloadType `json:"workloadType,omitempty" protobuf:"bytes,4,opt,name=workloadType,casttype=WorkloadType"`
	// resources of the server container.
	// +optional
	// +k8s:opaqueType
	Resources corev1.ResourceRequirements `json:"resources,omitempty,omitzero" protobuf:"bytes,5,opt,name=resources"`
	// scheduling says where the pod may run.
	// +optional
	Scheduling SchedulingSpec `json:"scheduling,omitempty,omitzero" protobuf:"bytes,6,opt,name=scheduling"`
	// persistence gives the node a volume.
	// +optional
	// +k8s:optional
	Persistence *PersistenceSpec `json:"persistence,omitempty" protobuf:"bytes,7,opt,name=persistence"`
	// exporter runs a Prometheus exporter beside the server.
	// +optional
	Exporter ExporterSpec `json:"exporter,omitempty,omitzero" protobuf:"bytes,8,opt,name=exporter"`
	// serverConfigMapName is the ConfigMap with the boot settings and the server's configuration. Default: one of the node's own.
	// +optional
	// +k8s:optional
	ServerConfigMapName string `json:"serverConfigMapName,omitempty" protobuf:"bytes,9,opt,name=serverConfigMapName"`
	// usersACLSecretName is the Secret with the ACL file.
	// +optional
	// +k8s:optional
	UsersACLSecretName string `json:"usersACLSecretName,omitempty" protobuf:"bytes,10,opt,name=usersACLSecretName"`
	// systemPasswordsSecretName is the Secret with the passwords of the product's own users.
	// +optional
	// +k8s:optional
	SystemPasswordsSecretName string `json:"systemPasswordsSecretName,omitempty" protobuf:"bytes,11,opt,name=systemPasswordsSecretName"`
	// tls of the node.
	// +optional
	// +k8s:optional
	TLS *TLSSpec `json:"tls,omitempty" protobuf:"bytes,12,opt,name=tls"`
	// containers are merged by name into the pod's containers.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +patchMergeKey=name
	// +patchStrategy=merge
	// +k8s:optional
	// +k8s:listType=map
	// +k8s:listMapKey=name
	// +k8s:eachVal=+k8s:opaqueType
	Containers []corev1.Container `json:"containers,omitempty" patchStrategy:"merge" patchMergeKey:"name" protobuf:"bytes,13,rep,name=containers"`
	// config holds directives that are applied to the running server as well as at its start.
	// +optional
	// +k8s:optional
	Config map[string]string `json:"config,omitempty" protobuf:"bytes,14,rep,name=config"`
	// podSecurityContext is merged over the default one.
	// +optional
	// +k8s:optional
	// +k8s:opaqueType
	PodSecurityContext *corev1.PodSecurityContext `json:"podSecurityContext,omitempty" protobuf:"bytes,15,opt,name=podSecurityContext"`
	// terminationGracePeriodSeconds of the pod, in seconds.
	// +optional
	// +k8s:optional
	// +k8s:minimum=1
	TerminationGracePeriodSeconds *int64 `json:"terminationGracePeriodSeconds,omitempty" protobuf:"varint,16,opt,name=terminationGracePeriodSeconds"`
	// podLabels are added to the pod.
	// +optional
	// +k8s:optional
	PodLabels map[string]string `json:"podLabels,omitempty" protobuf:"bytes,17,rep,name=podLabels"`
	// podAnnotations are added to the pod.
	// +optional
	// +k8s:optional
	PodAnnotations map[string]string `json:"podAnnotations,omitempty" protobuf:"bytes,18,rep,name=podAnnotations"`
	// workloadRevision is the revision of this spec that the owning Valkey has authorised. A change that would restart the pod waits
	// until its revision, shown in status.pendingRevision, is named here. The first pod needs none, and neither does a node made by hand.
	// +optional
	// +k8s:optional
	WorkloadRevision string `json:"workloadRevision,omitempty" protobuf:"bytes,19,opt,name=workloadRevision"`
}

// ValkeyNodeStatus is what is, as last seen by the controller.
type ValkeyNodeStatus struct {
	// ready is whether the pod is ready and the server answers.
	// +optional
	// +k8s:optional
	Ready bool `json:"ready,omitempty" protobuf:"varint,1,opt,name=ready"`
	// podName of the node's pod.
	// +optional
	// +k8s:optional
	PodName string `json:"podName,omitempty" protobuf:"bytes,2,opt,name=podName"`
	// podIP of the node's pod.
	// +optional
	// +k8s:optional
	PodIP string `json:"podIP,omitempty" protobuf:"bytes,3,opt,name=podIP"`
	// role the server reports.
	// +optional
	// +k8s:optional
	Role Role `json:"role,omitempty" protobuf:"bytes,4,opt,name=role,casttype=Role"`
	// replicaOf is host:port of the primary that the server follows.
	// +optional
	// +k8s:optional
	ReplicaOf string `json:"replicaOf,omitempty" protobuf:"bytes,5,opt,name=replicaOf"`
	// workloadRevision is the revision of the pod template in force.
	// +optional
	// +k8s:optional
	WorkloadRevision string `json:"workloadRevision,omitempty" protobuf:"bytes,6,opt,name=workloadRevision"`
	// pendingRevision is a revision of the pod template that waits to be authorised in spec.workloadRevision.
	// +optional
	// +k8s:optional
	PendingRevision string `json:"pendingRevision,omitempty" protobuf:"bytes,7,opt,name=pendingRevision"`
	// observedGeneration is the generation of the spec that this status is about.
	// +optional
	// +k8s:optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty" protobuf:"varint,8,opt,name=observedGeneration"`
	// conditions: Ready, PersistentVolumeClaimReady, PersistentVolumeClaimSizeReady, LiveConfigApplied, ACLApplied, WorkloadRollPending.
	// +optional
	// +listType=map
	// +listMapKey=type
	// +patchMergeKey=type
	// +patchStrategy=merge
	// +k8s:optional
	// +k8s:listType=map
	// +k8s:listMapKey=type
	// +k8s:eachVal=+k8s:opaqueType
	Conditions []metav1.Condition `json:"conditions,omitempty" patchStrategy:"merge" patchMergeKey:"type" protobuf:"bytes,9,rep,name=conditions"`
}
