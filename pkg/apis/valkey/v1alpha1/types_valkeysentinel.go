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
	metav1.TypeMeta `json:""`
	// Standard object's metadata.
	// +optional
	// +k8s:opaqueType
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec is what is wanted.
	// +optional
	// +k8s:optional
	Spec ValkeySentinelSpec `json:"spec,omitempty"`
	// status is what is; only the controller writes it.
	// +optional
	// +k8s:optional
	Status ValkeySentinelStatus `json:"status,omitempty"`
}

// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object

// ValkeySentinelList is a list of ValkeySentinels.
type ValkeySentinelList struct {
	metav1.TypeMeta `json:""`
	// Standard list metadata.
	// +optional
	// +k8s:opaqueType
	metav1.ListMeta `json:"metadata,omitempty"`
	// items are the ValkeySentinels.
	Items []ValkeySentinel `json:"items"`
}

// ValkeySentinelSpec is what a person wants of a Sentinel quorum.
// +k8s:customValidation
type ValkeySentinelSpec struct {
	// replicas is how many Sentinels run, at least 3; odd numbers make sense. Default 3.
	// +optional
	// +default=3
	// +k8s:optional
	// +k8s:minimum=3
	Replicas int32 `json:"replicas,omitempty"`
	// valkeySelector selects the Valkeys of this namespace that are monitored. Empty or absent selects nothing.
	// +optional
	// +k8s:optional
	ValkeySelector *metav1.LabelSelector `json:"valkeySelector,omitempty"`
	// config holds process-wide directives of sentinel.conf. Keys the product owns are ignored, with a warning.
	// +optional
	// +k8s:optional
	Config map[string]string `json:"config,omitempty"`
	// image of the Sentinel container. Default as for Valkey.
	// +optional
	// +k8s:optional
	Image string `json:"image,omitempty"`
	// imagePullSecrets are Secrets of this namespace used to pull the images.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +k8s:optional
	ImagePullSecrets []corev1.LocalObjectReference `json:"imagePullSecrets,omitempty"`
	// resources of the Sentinel container.
	// +optional
	// +k8s:optional
	Resources corev1.ResourceRequirements `json:"resources,omitempty"`
	// scheduling says where pods may run and how they spread.
	// +optional
	// +k8s:optional
	Scheduling SchedulingSpec `json:"scheduling,omitempty"`
	// users are ACL users for clients of the Sentinels. Names that begin with "_" are the product's own.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +k8s:optional
	// +k8s:listType=map
	// +k8s:listMapKey=name
	Users []UserSpec `json:"users,omitempty"`
	// exporter runs a Prometheus exporter beside each Sentinel.
	// +optional
	// +k8s:optional
	Exporter ExporterSpec `json:"exporter,omitempty"`
	// persistence keeps each Sentinel's file on a volume. Not needed: a Sentinel that lost its file is whole again by itself.
	// +optional
	// +k8s:optional
	Persistence *SentinelPersistenceSpec `json:"persistence,omitempty"`
	// containers are merged by name into the pod's containers, as a strategic merge patch: "sentinel" and "metrics-exporter" change ours, others are added.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +patchMergeKey=name
	// +patchStrategy=merge
	// +k8s:optional
	Containers []corev1.Container `json:"containers,omitempty" patchStrategy:"merge" patchMergeKey:"name"`
	// networking holds TLS and the network policy.
	// +optional
	// +k8s:optional
	Networking NetworkingSpec `json:"networking,omitempty"`
	// podDisruptionBudget limits how many pods evictions may take at once. Default: the most that keeps a quorum.
	// +optional
	// +k8s:optional
	PodDisruptionBudget PodDisruptionBudgetSpec `json:"podDisruptionBudget,omitempty"`
	// podSecurityContext is merged over the default one, which passes the "restricted" Pod Security Standard.
	// +optional
	// +k8s:optional
	PodSecurityContext *corev1.PodSecurityContext `json:"podSecurityContext,omitempty"`
	// podLabels are added to every pod. Labels the product sets win.
	// +optional
	// +k8s:optional
	PodLabels map[string]string `json:"podLabels,omitempty"`
	// podAnnotations are added to every pod.
	// +optional
	// +k8s:optional
	PodAnnotations map[string]string `json:"podAnnotations,omitempty"`
}

// SentinelPersistenceSpec is the volume of a Sentinel.
type SentinelPersistenceSpec struct {
	// size of each Sentinel's volume, such as 64Mi.
	// +required
	Capacity resource.Quantity `json:"size"`
	// storageClassName of the claims. Default: the cluster's default class.
	// +optional
	// +k8s:optional
	StorageClassName *string `json:"storageClassName,omitempty"`
	// reclaimPolicy says what happens to a claim when its Sentinel is scaled away or deleted: Retain (default) or Delete.
	// +optional
	// +default="Retain"
	// +k8s:optional
	ReclaimPolicy PersistentVolumeReclaim `json:"reclaimPolicy,omitempty"`
}

// ValkeySentinelStatus is what is, as last seen by the controller.
type ValkeySentinelStatus struct {
	// state sums everything up in one word.
	// +optional
	// +k8s:optional
	State State `json:"state,omitempty"`
	// reason for the state, one word.
	// +optional
	// +k8s:optional
	Reason string `json:"reason,omitempty"`
	// message says the reason to a person.
	// +optional
	// +k8s:optional
	Message string `json:"message,omitempty"`
	// replicas is how many Sentinels exist.
	// +optional
	// +k8s:optional
	Replicas int32 `json:"replicas,omitempty"`
	// readyReplicas is how many Sentinels are ready.
	// +optional
	// +k8s:optional
	ReadyReplicas int32 `json:"readyReplicas,omitempty"`
	// selector of the pods, for the scale subresource.
	// +optional
	// +k8s:optional
	Selector string `json:"selector,omitempty"`
	// monitors are the Valkeys this quorum watches.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +k8s:optional
	// +k8s:listType=map
	// +k8s:listMapKey=name
	Monitors []MonitorStatus `json:"monitors,omitempty"`
	// observedGeneration is the generation of the spec that this status is about.
	// +optional
	// +k8s:optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	// conditions: Ready, Progressing, Degraded, ConfigurationWarning, QuorumHealthy, MonitorConflict.
	// +optional
	// +listType=map
	// +listMapKey=type
	// +k8s:optional
	// +k8s:listType=map
	// +k8s:listMapKey=type
	// +k8s:eachVal=+k8s:opaqueType
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// MonitorStatus is one monitored Valkey, as the Sentinels see it.
type MonitorStatus struct {
	// name of the monitor.
	// +required
	// +k8s:required
	Name string `json:"name"`
	// valkey that is monitored.
	// +optional
	// +k8s:optional
	Valkey string `json:"valkey,omitempty"`
	// primaryAddress is host:port of the primary as most Sentinels see it.
	// +optional
	// +k8s:optional
	PrimaryAddress string `json:"primaryAddress,omitempty"`
	// quorum is how many Sentinels must agree that the primary is down.
	// +optional
	// +k8s:optional
	Quorum int32 `json:"quorum,omitempty"`
	// ok is whether a failover could be agreed on and authorised now.
	// +optional
	// +k8s:optional
	OK bool `json:"ok,omitempty"`
	// okMessage is what the Sentinels answer to CKQUORUM.
	// +optional
	// +k8s:optional
	OKMessage string `json:"okMessage,omitempty"`
	// replicas the Sentinels know of.
	// +optional
	// +k8s:optional
	Replicas int32 `json:"replicas,omitempty"`
	// sentinels that watch it, as most of them count.
	// +optional
	// +k8s:optional
	Sentinels int32 `json:"sentinels,omitempty"`
	// flags of the primary, such as "master" or "master,s_down".
	// +optional
	// +k8s:optional
	Flags string `json:"flags,omitempty"`
	// registeredOn is on how many Sentinels it is registered.
	// +optional
	// +k8s:optional
	RegisteredOn int32 `json:"registeredOn,omitempty"`
}
