// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// +genclient
// +genclient:method=Failover,verb=create,subresource=failover,input=github.com/valkeykube/valkeykube/pkg/apis/valkey/v1alpha1.Failover,result=github.com/valkeykube/valkeykube/pkg/apis/valkey/v1alpha1.Failover
// +genclient:method=GetMonitors,verb=get,subresource=monitors,result=github.com/valkeykube/valkeykube/pkg/apis/valkey/v1alpha1.MonitorList
// +genclient:method=GetScale,verb=get,subresource=scale,result=k8s.io/api/autoscaling/v1.Scale
// +genclient:method=UpdateScale,verb=update,subresource=scale,input=k8s.io/api/autoscaling/v1.Scale,result=k8s.io/api/autoscaling/v1.Scale
// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object
// +k8s:supportsSubresource="/status"
// +k8s:supportsSubresource="/scale"

// ValkeySentinel is a Sentinel quorum that watches the Valkeys it selects by label, and fails them over.
type ValkeySentinel struct {
	// +k8s:opaqueType
	metav1.TypeMeta `json:""`
	// Standard object's metadata.
	// +optional
	// +k8s:opaqueType
	metav1.ObjectMeta `json:"metadata,omitempty" protobuf:"bytes,1,opt,name=metadata"`

	// spec is what is wanted.
	// +optional
	Spec ValkeySentinelSpec `json:"spec,omitempty,omitzero" protobuf:"bytes,2,opt,name=spec"`
	// status is what is; only the controller writes it.
	// +optional
	Status ValkeySentinelStatus `json:"status,omitempty,omitzero" protobuf:"bytes,3,opt,name=status"`
}

// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object

// ValkeySentinelList is a list of ValkeySentinels.
type ValkeySentinelList struct {
	// +k8s:opaqueType
	metav1.TypeMeta `json:""`
	// Standard list metadata.
	// +optional
	// +k8s:opaqueType
	metav1.ListMeta `json:"metadata,omitempty" protobuf:"bytes,1,opt,name=metadata"`
	// items are the ValkeySentinels.
	Items []ValkeySentinel `json:"items" protobuf:"bytes,2,rep,name=items"`
}

// ValkeySentinelSpec is what a person wants of a Sentinel quorum.
// +k8s:customValidation
type ValkeySentinelSpec struct {
	// replicas is how many Sentinels run, 3 to 99; odd numbers make sense. Default 3.
	// +optional
	// +default=3
	// +k8s:optional
	// +k8s:minimum=3
	// +k8s:maximum=99
	Replicas int32 `json:"replicas,omitempty" protobuf:"varint,1,opt,name=replicas"`
	// valkeySelector selects the Valkeys of this namespace that are monitored. Empty or absent selects nothing.
	// +optional
	// +k8s:optional
	// +k8s:opaqueType
	ValkeySelector *metav1.LabelSelector `json:"valkeySelector,omitempty" protobuf:"bytes,2,opt,name=valkeySelector"`
	// config holds process-wide directives of sentinel.conf. Keys the product owns are ignored, with a warning.
	// +optional
	// +k8s:optional
	Config map[string]string `json:"config,omitempty" protobuf:"bytes,3,rep,name=config"`
	// image of the Sentinel container. Default as for Valkey.
	// +optional
	// +k8s:optional
	Image string `json:"image,omitempty" protobuf:"bytes,4,opt,name=image"`
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
	ImagePullSecrets []corev1.LocalObjectReference `json:"imagePullSecrets,omitempty" patchStrategy:"merge" patchMergeKey:"name" protobuf:"bytes,5,rep,name=imagePullSecrets"`
	// resources of the Sentinel container.
	// +optional
	// +k8s:opaqueType
	Resources corev1.ResourceRequirements `json:"resources,omitempty,omitzero" protobuf:"bytes,6,opt,name=resources"`
	// scheduling says where pods may run and how they spread.
	// +optional
	Scheduling SchedulingSpec `json:"scheduling,omitempty,omitzero" protobuf:"bytes,7,opt,name=scheduling"`
	// users are ACL users for clients of the Sentinels. Names that begin with "_" are the product's own.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +patchMergeKey=name
	// +patchStrategy=merge
	// +k8s:optional
	// +k8s:listType=map
	// +k8s:listMapKey=name
	Users []UserSpec `json:"users,omitempty" patchStrategy:"merge" patchMergeKey:"name" protobuf:"bytes,8,rep,name=users"`
	// exporter runs a Prometheus exporter beside each Sentinel.
	// +optional
	Exporter ExporterSpec `json:"exporter,omitempty,omitzero" protobuf:"bytes,9,opt,name=exporter"`
	// persistence keeps each Sentinel's file on a volume. Not needed: a Sentinel that lost its file is whole again by itself.
	// It cannot be added, removed, shrunk, or moved to another class later.
	// +optional
	// +k8s:optional
	Persistence *SentinelPersistenceSpec `json:"persistence,omitempty" protobuf:"bytes,10,opt,name=persistence"`
	// containers are merged by name into the pod's containers, as a strategic merge patch: "sentinel" and "metrics-exporter" change ours, others are added.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +patchMergeKey=name
	// +patchStrategy=merge
	// +k8s:optional
	// +k8s:listType=map
	// +k8s:listMapKey=name
	// +k8s:eachVal=+k8s:opaqueType
	Containers []corev1.Container `json:"containers,omitempty" patchStrategy:"merge" patchMergeKey:"name" protobuf:"bytes,11,rep,name=containers"`
	// networking holds TLS and the network policy.
	// +optional
	Networking NetworkingSpec `json:"networking,omitempty,omitzero" protobuf:"bytes,12,opt,name=networking"`
	// podDisruptionBudget limits how many pods evictions may take at once. Default: the most that keeps a quorum.
	// +optional
	PodDisruptionBudget PodDisruptionBudgetSpec `json:"podDisruptionBudget,omitempty,omitzero" protobuf:"bytes,13,opt,name=podDisruptionBudget"`
	// podSecurityContext is merged over the default one, which passes the "restricted" Pod Security Standard.
	// +optional
	// +k8s:optional
	// +k8s:opaqueType
	PodSecurityContext *corev1.PodSecurityContext `json:"podSecurityContext,omitempty" protobuf:"bytes,14,opt,name=podSecurityContext"`
	// podLabels are added to every pod. Labels the product sets win.
	// +optional
	// +k8s:optional
	PodLabels map[string]string `json:"podLabels,omitempty" protobuf:"bytes,15,rep,name=podLabels"`
	// podAnnotations are added to every pod.
	// +optional
	// +k8s:optional
	PodAnnotations map[string]string `json:"podAnnotations,omitempty" protobuf:"bytes,16,rep,name=podAnnotations"`
}

// SentinelPersistenceSpec is the volume of a Sentinel.
type SentinelPersistenceSpec struct {
	// size of each Sentinel's volume, such as 64Mi.
	// +required
	Capacity resource.Quantity `json:"size" protobuf:"bytes,1,opt,name=size"`
	// storageClassName of the claims. Default: the cluster's default class.
	// +optional
	// +k8s:optional
	StorageClassName *string `json:"storageClassName,omitempty" protobuf:"bytes,2,opt,name=storageClassName"`
	// reclaimPolicy says what happens to a claim when its Sentinel is scaled away or deleted: Retain (default) or Delete.
	// +optional
	// +default="Retain"
	// +k8s:optional
	ReclaimPolicy PersistentVolumeReclaim `json:"reclaimPolicy,omitempty" protobuf:"bytes,3,opt,name=reclaimPolicy,casttype=PersistentVolumeReclaim"`
}

// ValkeySentinelStatus is what is, as last seen by the controller.
type ValkeySentinelStatus struct {
	// state sums everything up in one word.
	// +optional
	// +k8s:optional
	State State `json:"state,omitempty" protobuf:"bytes,1,opt,name=state,casttype=State"`
	// reason for the state, one word.
	// +optional
	// +k8s:optional
	Reason string `json:"reason,omitempty" protobuf:"bytes,2,opt,name=reason"`
	// message says the reason to a person.
	// +optional
	// +k8s:optional
	Message string `json:"message,omitempty" protobuf:"bytes,3,opt,name=message"`
	// replicas is how many Sentinels exist.
	// +optional
	// +k8s:optional
	Replicas int32 `json:"replicas,omitempty" protobuf:"varint,4,opt,name=replicas"`
	// readyReplicas is how many Sentinels are ready.
	// +optional
	// +k8s:optional
	ReadyReplicas int32 `json:"readyReplicas,omitempty" protobuf:"varint,5,opt,name=readyReplicas"`
	// selector of the pods, for the scale subresource.
	// +optional
	// +k8s:optional
	Selector string `json:"selector,omitempty" protobuf:"bytes,6,opt,name=selector"`
	// monitors are the Valkeys this quorum watches.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +patchMergeKey=name
	// +patchStrategy=merge
	// +k8s:optional
	// +k8s:listType=map
	// +k8s:listMapKey=name
	Monitors []MonitorStatus `json:"monitors,omitempty" patchStrategy:"merge" patchMergeKey:"name" protobuf:"bytes,7,rep,name=monitors"`
	// observedGeneration is the generation of the spec that this status is about.
	// +optional
	// +k8s:optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty" protobuf:"varint,8,opt,name=observedGeneration"`
	// conditions: Ready, Progressing, Degraded, ConfigurationWarning, QuorumHealthy, MonitorConflict.
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

// MonitorStatus is one monitored Valkey, as the Sentinels see it.
type MonitorStatus struct {
	// name of the monitor.
	// +required
	// +k8s:required
	Name string `json:"name" protobuf:"bytes,1,opt,name=name"`
	// valkey that is monitored.
	// +optional
	// +k8s:optional
	Valkey string `json:"valkey,omitempty" protobuf:"bytes,2,opt,name=valkey"`
	// primaryAddress is host:port of the primary as most Sentinels see it.
	// +optional
	// +k8s:optional
	PrimaryAddress string `json:"primaryAddress,omitempty" protobuf:"bytes,3,opt,name=primaryAddress"`
	// quorum is how many Sentinels must agree that the primary is down.
	// +optional
	// +k8s:optional
	Quorum int32 `json:"quorum,omitempty" protobuf:"varint,4,opt,name=quorum"`
	// ok is whether a failover could be agreed on and authorised now.
	// +optional
	// +k8s:optional
	OK bool `json:"ok,omitempty" protobuf:"varint,5,opt,name=ok"`
	// okMessage is what the Sentinels answer to CKQUORUM.
	// +optional
	// +k8s:optional
	OKMessage string `json:"okMessage,omitempty" protobuf:"bytes,6,opt,name=okMessage"`
	// replicas the Sentinels know of.
	// +optional
	// +k8s:optional
	Replicas int32 `json:"replicas,omitempty" protobuf:"varint,7,opt,name=replicas"`
	// sentinels that watch it, as most of them count.
	// +optional
	// +k8s:optional
	Sentinels int32 `json:"sentinels,omitempty" protobuf:"varint,8,opt,name=sentinels"`
	// flags of the primary, such as "master" or "master,s_down".
	// +optional
	// +k8s:optional
	Flags string `json:"flags,omitempty" protobuf:"bytes,9,opt,name=flags"`
	// registeredOn is on how many Sentinels it is registered.
	// +optional
	// +k8s:optional
	RegisteredOn int32 `json:"registeredOn,omitempty" protobuf:"varint,10,opt,name=registeredOn"`
}
