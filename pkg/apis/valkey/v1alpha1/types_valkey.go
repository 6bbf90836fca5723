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
// +genclient:method=GetReplication,verb=get,subresource=replication,result=github.com/valkeykube/valkeykube/pkg/apis/valkey/v1alpha1.Replication
// +genclient:method=GetScale,verb=get,subresource=scale,result=k8s.io/api/autoscaling/v1.Scale
// +genclient:method=UpdateScale,verb=update,subresource=scale,input=k8s.io/api/autoscaling/v1.Scale,result=k8s.io/api/autoscaling/v1.Scale
// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object
// +k8s:supportsSubresource="/status"
// +k8s:supportsSubresource="/scale"

// Valkey is one dataset: a primary and spec.replicas replicas that follow it.
type Valkey struct {
	// +k8s:opaqueType
	metav1.TypeMeta `json:""`
	// Standard object's metadata.
	// +optional
	// +k8s:opaqueType
	metav1.ObjectMeta `json:"metadata,omitempty" protobuf:"bytes,1,opt,name=metadata"`

	// spec is what is wanted.
	// +optional
	Spec ValkeySpec `json:"spec,omitempty,omitzero" protobuf:"bytes,2,opt,name=spec"`
	// status is what is; only the controller and the failover subresource write it.
	// +optional
	Status ValkeyStatus `json:"status,omitempty,omitzero" protobuf:"bytes,3,opt,name=status"`
}

// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object

// ValkeyList is a list of Valkeys.
type ValkeyList struct {
	// +k8s:opaqueType
	metav1.TypeMeta `json:""`
	// Standard list metadata.
	// +optional
	// +k8s:opaqueType
	metav1.ListMeta `json:"metadata,omitempty" protobuf:"bytes,1,opt,name=metadata"`
	// items are the Valkeys.
	Items []Valkey `json:"items" protobuf:"bytes,2,rep,name=items"`
}

// ValkeySpec is what a person wants of a Valkey.
// +k8s:customValidation
type ValkeySpec struct {
	// replicas is how many replicas follow the primary, in addition to it. 0 is a primary alone.
	// +optional
	// +k8s:optional
	// +k8s:minimum=0
	// +k8s:maximum=998
	Replicas int32 `json:"replicas" protobuf:"varint,1,opt,name=replicas"`
	// failover says who promotes a replica when the primary is lost.
	// +optional
	Failover FailoverSpec `json:"failover,omitempty,omitzero" protobuf:"bytes,2,opt,name=failover"`
	// image of the server container. Any Valkey image works, also one without a shell.
	// Default: the Valkey release this version of the product was tested with most.
	// +optional
	// +k8s:optional
	Image string `json:"image,omitempty" protobuf:"bytes,3,opt,name=image"`
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
	ImagePullSecrets []corev1.LocalObjectReference `json:"imagePullSecrets,omitempty" patchStrategy:"merge" patchMergeKey:"name" protobuf:"bytes,4,rep,name=imagePullSecrets"`
	// resources of the server container. Where a memory limit is set and config does not set maxmemory, maxmemory is derived from it.
	// +optional
	// +k8s:opaqueType
	Resources corev1.ResourceRequirements `json:"resources,omitempty,omitzero" protobuf:"bytes,5,opt,name=resources"`
	// scheduling says where pods may run and how they spread.
	// +optional
	Scheduling SchedulingSpec `json:"scheduling,omitempty,omitzero" protobuf:"bytes,6,opt,name=scheduling"`
	// exporter runs a Prometheus exporter beside each server.
	// +optional
	Exporter ExporterSpec `json:"exporter,omitempty,omitzero" protobuf:"bytes,7,opt,name=exporter"`
	// workloadType is what runs the pods: StatefulSet, or Deployment for a cache without replicas and without persistence.
	// Default StatefulSet. Immutable.
	// +optional
	// +default="StatefulSet"
	// +k8s:optional
	WorkloadType WorkloadType `json:"workloadType,omitempty" protobuf:"bytes,8,opt,name=workloadType,casttype=WorkloadType"`
	// persistence gives each node a volume and says what is written to it. Absent: the data live in memory only.
	// It cannot be added, removed, shrunk, or moved to another class later.
	// +optional
	// +k8s:optional
	Persistence *PersistenceSpec `json:"persistence,omitempty" protobuf:"bytes,9,opt,name=persistence"`
	// users are the ACL users of the dataset. Names that begin with "_" are the product's own.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +patchMergeKey=name
	// +patchStrategy=merge
	// +k8s:optional
	// +k8s:listType=map
	// +k8s:listMapKey=name
	Users []UserSpec `json:"users,omitempty" patchStrategy:"merge" patchMergeKey:"name" protobuf:"bytes,10,rep,name=users"`
	// containers are merged by name into the pod's containers, as a strategic merge patch: "server" and "metrics-exporter" change ours, others are added.
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
	// config holds directives of valkey.conf, loadmodule for a module of the image among them. Keys the product owns (port, dir, replicaof,
	// aclfile, …) are ignored, with a warning. What can be changed under a running server is; the rest replaces pods. A directive that is taken
	// out goes on being in force in each server until its next start: to have it otherwise at once, set it to another value.
	// +optional
	// +k8s:optional
	Config map[string]string `json:"config,omitempty" protobuf:"bytes,12,rep,name=config"`
	// networking holds TLS and the network policy.
	// +optional
	Networking NetworkingSpec `json:"networking,omitempty,omitzero" protobuf:"bytes,13,opt,name=networking"`
	// podDisruptionBudget limits how many pods evictions may take at once.
	// +optional
	PodDisruptionBudget PodDisruptionBudgetSpec `json:"podDisruptionBudget,omitempty,omitzero" protobuf:"bytes,14,opt,name=podDisruptionBudget"`
	// podSecurityContext is merged over the default one, which passes the "restricted" Pod Security Standard.
	// +optional
	// +k8s:optional
	// +k8s:opaqueType
	PodSecurityContext *corev1.PodSecurityContext `json:"podSecurityContext,omitempty" protobuf:"bytes,15,opt,name=podSecurityContext"`
	// terminationGracePeriodSeconds is how long, in seconds, a pod may take to hand over and stop. Default: derived, long enough for a coordinated hand-over.
	// +optional
	// +k8s:optional
	// +k8s:minimum=1
	TerminationGracePeriodSeconds *int64 `json:"terminationGracePeriodSeconds,omitempty" protobuf:"varint,16,opt,name=terminationGracePeriodSeconds"`
	// podLabels are added to every pod. Labels the product sets win.
	// +optional
	// +k8s:optional
	PodLabels map[string]string `json:"podLabels,omitempty" protobuf:"bytes,17,rep,name=podLabels"`
	// podAnnotations are added to every pod.
	// +optional
	// +k8s:optional
	PodAnnotations map[string]string `json:"podAnnotations,omitempty" protobuf:"bytes,18,rep,name=podAnnotations"`
	// rollingUpdate bounds how a change is rolled out.
	// +optional
	RollingUpdate RollingUpdateSpec `json:"rollingUpdate,omitempty,omitzero" protobuf:"bytes,19,opt,name=rollingUpdate"`
}

// FailoverMode says who decides which node is primary.
// +enum
// +k8s:enum
type FailoverMode string

const (
	// FailoverModeNone leaves the choice to a person: nobody promotes by itself.
	FailoverModeNone FailoverMode = "None"
	// FailoverModeOperator lets the controller promote the best replica when the primary is lost.
	FailoverModeOperator FailoverMode = "Operator"
	// FailoverModeSentinel lets the Sentinels of the ValkeySentinel that selects this Valkey decide; it works with the controller away.
	FailoverModeSentinel FailoverMode = "Sentinel"
)

// FailoverSpec says who promotes a replica when the primary is lost.
type FailoverSpec struct {
	// mode is None (a person decides), Operator (the controller decides) or Sentinel (a Sentinel quorum decides). Default None.
	// +optional
	// +default="None"
	// +k8s:optional
	Mode FailoverMode `json:"mode,omitempty" protobuf:"bytes,1,opt,name=mode,casttype=FailoverMode"`
	// sentinel is how the Sentinels monitor this Valkey; only with mode Sentinel.
	// +optional
	// +k8s:optional
	Sentinel *SentinelFailoverSpec `json:"sentinel,omitempty" protobuf:"bytes,2,opt,name=sentinel"`
	// operator tunes mode Operator.
	// +optional
	// +k8s:optional
	Operator *OperatorFailoverSpec `json:"operator,omitempty" protobuf:"bytes,3,opt,name=operator"`
}

// SentinelFailoverSpec is how the Sentinels monitor a Valkey.
type SentinelFailoverSpec struct {
	// monitorName is the name under which Sentinel clients ask for the primary: letters, digits, ".", "-", "_". Default metadata.name.
	// It is frozen while the sentinel block exists, and no two Valkeys of a namespace may be monitored under one name.
	// +optional
	// +k8s:optional
	// +k8s:maxLength=63
	MonitorName string `json:"monitorName,omitempty" protobuf:"bytes,1,opt,name=monitorName"`
	// quorum is how many Sentinels must agree that the primary is down. Default: a majority of the Sentinels.
	// +optional
	// +k8s:optional
	// +k8s:minimum=1
	Quorum *int32 `json:"quorum,omitempty" protobuf:"varint,2,opt,name=quorum"`
	// config holds per-monitor settings of SENTINEL SET, such as down-after-milliseconds (default 30000) or failover-timeout (default 30000;
	// Sentinels that could not agree on who fails over try again after twice that).
	// Keys the product owns (auth-user, auth-pass, quorum, …) are ignored, with a warning.
	// +optional
	// +k8s:optional
	Config map[string]string `json:"config,omitempty" protobuf:"bytes,3,rep,name=config"`
}

// OperatorFailoverSpec tunes failover by the controller.
type OperatorFailoverSpec struct {
	// downAfter is how long the primary must be unreachable before a replica is promoted. Default 10s.
	// +optional
	// +k8s:optional
	// +k8s:opaqueType
	DownAfter *metav1.Duration `json:"downAfter,omitempty" protobuf:"bytes,1,opt,name=downAfter"`
}

// WorkloadType is what runs the pods.
// +enum
// +k8s:enum
type WorkloadType string

const (
	// WorkloadTypeStatefulSet runs each node as a StatefulSet of one pod with a stable name.
	WorkloadTypeStatefulSet WorkloadType = "StatefulSet"
	// WorkloadTypeDeployment runs the node as a Deployment of one pod: a cache without identity.
	WorkloadTypeDeployment WorkloadType = "Deployment"
)

// PersistentVolumeReclaim says what happens to a node's volume claim when the node goes.
// +enum
// +k8s:enum
type PersistentVolumeReclaim string

const (
	// ReclaimRetain keeps the claim; a later node of the same name takes it up again.
	ReclaimRetain PersistentVolumeReclaim = "Retain"
	// ReclaimDelete deletes the claim, and with it the data, when the node is deleted.
	ReclaimDelete PersistentVolumeReclaim = "Delete"
)

// PersistenceMode says what is written to the volume.
// +enum
// +k8s:enum
type PersistenceMode string

const (
	// PersistenceModeRDB writes snapshots; a crash loses what came after the last one.
	PersistenceModeRDB PersistenceMode = "RDB"
	// PersistenceModeAOF writes every change to an append-only file, flushed each second.
	PersistenceModeAOF PersistenceMode = "AOF"
	// PersistenceModeBoth writes both.
	PersistenceModeBoth PersistenceMode = "Both"
)

// PersistenceSpec is the volume of a node and what is written to it.
// +k8s:customValidation
type PersistenceSpec struct {
	// size of each node's volume, such as 10Gi. It may grow, never shrink.
	// +required
	Capacity resource.Quantity `json:"size" protobuf:"bytes,1,opt,name=size"`
	// storageClassName of the claims. Default: the cluster's default class.
	// +optional
	// +k8s:optional
	StorageClassName *string `json:"storageClassName,omitempty" protobuf:"bytes,2,opt,name=storageClassName"`
	// reclaimPolicy says what happens to a claim when its node is deleted: Retain (default) or Delete.
	// +optional
	// +default="Retain"
	// +k8s:optional
	ReclaimPolicy PersistentVolumeReclaim `json:"reclaimPolicy,omitempty" protobuf:"bytes,3,opt,name=reclaimPolicy,casttype=PersistentVolumeReclaim"`
	// mode is what is written to the volume: RDB, AOF (default) or Both.
	// +optional
	// +default="AOF"
	// +k8s:optional
	Mode PersistenceMode `json:"mode,omitempty" protobuf:"bytes,4,opt,name=mode,casttype=PersistenceMode"`
}

// UserSpec is an ACL user.
// +k8s:customValidation
type UserSpec struct {
	// name of the user. "default" configures the user of clients that do not log in.
	// +required
	// +k8s:required
	// +k8s:maxLength=64
	Name string `json:"name" protobuf:"bytes,1,opt,name=name"`
	// enabled is whether the user may log in. Default true.
	// +optional
	// +default=true
	// +k8s:optional
	Enabled *bool `json:"enabled,omitempty" protobuf:"varint,2,opt,name=enabled"`
	// passwordSecret holds the user's passwords; every key listed is valid at the same time, which is how passwords are rotated.
	// +optional
	// +k8s:optional
	PasswordSecret *PasswordSecretRef `json:"passwordSecret,omitempty" protobuf:"bytes,3,opt,name=passwordSecret"`
	// nopass lets the user log in with any password. Not together with passwordSecret.
	// +optional
	// +k8s:optional
	NoPass bool `json:"nopass,omitempty" protobuf:"varint,4,opt,name=nopass"`
	// resetpass removes all passwords of the user: nobody can log in as it until one is set.
	// +optional
	// +k8s:optional
	ResetPass bool `json:"resetpass,omitempty" protobuf:"varint,5,opt,name=resetpass"`
	// commands the user may or may not run.
	// +optional
	// +k8s:optional
	Commands *UserCommands `json:"commands,omitempty" protobuf:"bytes,6,opt,name=commands"`
	// keys the user may touch, as glob patterns.
	// +optional
	// +k8s:optional
	Keys *UserKeys `json:"keys,omitempty" protobuf:"bytes,7,opt,name=keys"`
	// channels the user may publish and subscribe to.
	// +optional
	// +k8s:optional
	Channels *UserChannels `json:"channels,omitempty" protobuf:"bytes,8,opt,name=channels"`
	// permissions are raw ACL rules, applied after the others, such as "+@read -keys ~app:*".
	// +optional
	// +k8s:optional
	Permissions string `json:"permissions,omitempty" protobuf:"bytes,9,opt,name=permissions"`
}

// PasswordSecretRef names a Secret of this namespace and the keys in it that hold passwords.
type PasswordSecretRef struct {
	// name of the Secret.
	// +required
	// +k8s:required
	Name string `json:"name" protobuf:"bytes,1,opt,name=name"`
	// keys in the Secret; every one is a valid password. Default: all keys.
	// +optional
	// +listType=set
	// +k8s:optional
	// +k8s:listType=set
	Keys []string `json:"keys,omitempty" protobuf:"bytes,2,rep,name=keys"`
}

// UserCommands are the commands and categories ("@read") of a user.
type UserCommands struct {
	// allow lists commands, subcommands ("config|get") and categories ("@read") the user may run.
	// +optional
	// +listType=set
	// +k8s:optional
	// +k8s:listType=set
	Allow []string `json:"allow,omitempty" protobuf:"bytes,1,rep,name=allow"`
	// deny lists those it may not run; applied after allow.
	// +optional
	// +listType=set
	// +k8s:optional
	// +k8s:listType=set
	Deny []string `json:"deny,omitempty" protobuf:"bytes,2,rep,name=deny"`
}

// UserKeys are key patterns of a user.
type UserKeys struct {
	// readWrite patterns may be read and written.
	// +optional
	// +listType=set
	// +k8s:optional
	// +k8s:listType=set
	ReadWrite []string `json:"readWrite,omitempty" protobuf:"bytes,1,rep,name=readWrite"`
	// readOnly patterns may be read.
	// +optional
	// +listType=set
	// +k8s:optional
	// +k8s:listType=set
	ReadOnly []string `json:"readOnly,omitempty" protobuf:"bytes,2,rep,name=readOnly"`
	// writeOnly patterns may be written.
	// +optional
	// +listType=set
	// +k8s:optional
	// +k8s:listType=set
	WriteOnly []string `json:"writeOnly,omitempty" protobuf:"bytes,3,rep,name=writeOnly"`
}

// UserChannels are pub/sub channel patterns of a user.
type UserChannels struct {
	// patterns of channels the user may use.
	// +optional
	// +listType=set
	// +k8s:optional
	// +k8s:listType=set
	Patterns []string `json:"patterns,omitempty" protobuf:"bytes,1,rep,name=patterns"`
}

// RollingUpdateSpec bounds a roll.
type RollingUpdateSpec struct {
	// syncTimeout is how long a rolled node may take until it is in sync again; then the roll pauses and says so. Default 5m.
	// +optional
	// +k8s:optional
	// +k8s:opaqueType
	SyncTimeout *metav1.Duration `json:"syncTimeout,omitempty" protobuf:"bytes,1,opt,name=syncTimeout"`
}
