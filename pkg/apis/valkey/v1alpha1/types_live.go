// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// FailoverRunMode says how a failover is carried out.
// +enum
// +k8s:enum
type FailoverRunMode string

const (
	// FailoverCoordinated pauses writes, waits until the target has all of them, and promotes it: no acknowledged write is lost.
	FailoverCoordinated FailoverRunMode = "Coordinated"
	// FailoverForced promotes at once; writes that the target does not have are lost.
	FailoverForced FailoverRunMode = "Forced"
)

// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object
// +k8s:isSubresource="/failover"

// Failover asks for a change of the primary; POST it to the subresource "failover" of a Valkey or ValkeySentinel. An empty body is valid.
type Failover struct {
	metav1.TypeMeta `json:""`
	// Standard object's metadata; the name, where given, must be that of the parent.
	// +optional
	// +k8s:opaqueType
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec is what is asked for.
	// +optional
	// +k8s:optional
	Spec FailoverRequestSpec `json:"spec,omitempty"`
	// status is the answer.
	// +optional
	// +k8s:optional
	Status FailoverRequestStatus `json:"status,omitempty"`
}

// FailoverRequestSpec is what is asked for.
// +k8s:customValidation
type FailoverRequestSpec struct {
	// valkey to fail over: required on a ValkeySentinel that monitors several, not used on a Valkey.
	// +optional
	// +k8s:optional
	Valkey string `json:"valkey,omitempty"`
	// to is the ValkeyNode that shall become primary. Default: the replica that is furthest.
	// +optional
	// +k8s:optional
	To string `json:"to,omitempty"`
	// mode is Coordinated (default) or Forced.
	// +optional
	// +default="Coordinated"
	// +k8s:optional
	Mode FailoverRunMode `json:"mode,omitempty"`
	// timeoutSeconds is how long the call may take, in seconds, 1 to 30. Default 25.
	// +optional
	// +default=25
	// +k8s:optional
	// +k8s:minimum=1
	// +k8s:maximum=30
	TimeoutSeconds int32 `json:"timeoutSeconds,omitempty"`
	// preconditions that must hold, or nothing is done.
	// +optional
	// +k8s:optional
	Preconditions *FailoverPreconditions `json:"preconditions,omitempty"`
}

// FailoverPreconditions must hold, or the failover is refused with 409.
type FailoverPreconditions struct {
	// uid the parent must have.
	// +optional
	// +k8s:optional
	UID *types.UID `json:"uid,omitempty"`
	// resourceVersion the parent must have.
	// +optional
	// +k8s:optional
	ResourceVersion *string `json:"resourceVersion,omitempty"`
}

// FailoverRequestStatus is the answer to a failover.
type FailoverRequestStatus struct {
	// phase is Succeeded, InProgress (it still runs; the parent's status tells the end) or Failed. Pending in a dry run.
	// +optional
	// +k8s:optional
	Phase OperationPhase `json:"phase,omitempty"`
	// uid of the operation in the parent's status.operation.
	// +optional
	// +k8s:optional
	OperationUID string `json:"operationUID,omitempty"`
	// from is the node that was primary.
	// +optional
	// +k8s:optional
	From string `json:"from,omitempty"`
	// to is the node that became primary.
	// +optional
	// +k8s:optional
	To string `json:"to,omitempty"`
	// coordinated is whether writes were paused and the target had all of them.
	// +optional
	// +k8s:optional
	Coordinated bool `json:"coordinated,omitempty"`
	// startedAt is when it was claimed.
	// +optional
	// +k8s:optional
	StartedAt metav1.Time `json:"startedAt,omitempty"`
	// duration from the claim to the new primary's first answer as primary.
	// +optional
	// +k8s:optional
	Duration *metav1.Duration `json:"duration,omitempty"`
	// message says more.
	// +optional
	// +k8s:optional
	Message string `json:"message,omitempty"`
}

// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object
// +k8s:isSubresource="/monitors"

// MonitorList is the live answer of "monitors": what each Sentinel says now about each monitor.
type MonitorList struct {
	metav1.TypeMeta `json:""`
	// Standard list metadata.
	// +optional
	// +k8s:opaqueType
	metav1.ListMeta `json:"metadata,omitempty"`
	// observedAt is when the Sentinels were asked.
	// +optional
	// +k8s:optional
	ObservedAt metav1.MicroTime `json:"observedAt,omitempty"`
	// sentinels that were asked, with the error of each that did not answer.
	// +optional
	// +listType=map
	// +listMapKey=pod
	// +k8s:optional
	Sentinels []SentinelAnswer `json:"sentinels,omitempty"`
	// items are the monitors.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +k8s:optional
	Items []Monitor `json:"items"`
}

// SentinelAnswer is whether a Sentinel answered.
type SentinelAnswer struct {
	// pod of the Sentinel.
	// +required
	Pod string `json:"pod"`
	// id of the Sentinel.
	// +optional
	ID string `json:"id,omitempty"`
	// error says why it did not answer.
	// +optional
	Error string `json:"error,omitempty"`
}

// Monitor is one monitored Valkey as every Sentinel sees it.
type Monitor struct {
	// name of the monitor.
	// +required
	Name string `json:"name"`
	// valkey that it watches, where it is known.
	// +optional
	Valkey string `json:"valkey,omitempty"`
	// primaryAddress is host:port of the primary as most Sentinels see it.
	// +optional
	PrimaryAddress string `json:"primaryAddress,omitempty"`
	// agreed is whether every Sentinel that answered names the same primary.
	// +optional
	Agreed bool `json:"agreed,omitempty"`
	// quorum that is set.
	// +optional
	Quorum int32 `json:"quorum,omitempty"`
	// ok is whether a failover could be agreed on and authorised now.
	// +optional
	OK bool `json:"ok,omitempty"`
	// views are the Sentinels' own answers.
	// +optional
	// +listType=map
	// +listMapKey=pod
	Views []MonitorView `json:"views,omitempty"`
}

// MonitorView is one Sentinel's own view of a monitor.
type MonitorView struct {
	// pod of the Sentinel.
	// +required
	Pod string `json:"pod"`
	// registered is whether this Sentinel knows the monitor.
	// +optional
	Registered bool `json:"registered,omitempty"`
	// primaryAddress is host:port of the primary as this Sentinel sees it.
	// +optional
	PrimaryAddress string `json:"primaryAddress,omitempty"`
	// flags of the primary, such as "master" or "master,s_down".
	// +optional
	Flags string `json:"flags,omitempty"`
	// quorum that is set on this Sentinel.
	// +optional
	Quorum int32 `json:"quorum,omitempty"`
	// quorumMessage is this Sentinel's answer to CKQUORUM.
	// +optional
	QuorumMessage string `json:"quorumMessage,omitempty"`
	// replicas this Sentinel knows.
	// +optional
	Replicas int32 `json:"replicas,omitempty"`
	// otherSentinels this Sentinel knows.
	// +optional
	OtherSentinels int32 `json:"otherSentinels,omitempty"`
	// configEpoch of the monitor.
	// +optional
	ConfigEpoch int64 `json:"configEpoch,omitempty"`
	// failoverState is the step of a failover that this Sentinel leads, where it does.
	// +optional
	FailoverState string `json:"failoverState,omitempty"`
}

// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object
// +k8s:isSubresource="/replication"

// Replication is the live answer of "replication": what every member says now.
type Replication struct {
	metav1.TypeMeta `json:""`
	// Standard object's metadata; that of the Valkey.
	// +optional
	// +k8s:opaqueType
	metav1.ObjectMeta `json:"metadata,omitempty"`
	// observedAt is when the members were asked.
	// +optional
	// +k8s:optional
	ObservedAt metav1.MicroTime `json:"observedAt,omitempty"`
	// primary is the node that is primary, where exactly one is.
	// +optional
	// +k8s:optional
	Primary string `json:"primary,omitempty"`
	// members, one each node.
	// +optional
	// +listType=map
	// +listMapKey=node
	// +k8s:optional
	Members []ReplicationMember `json:"members,omitempty"`
	// monitors are the Sentinels' views, with mode Sentinel.
	// +optional
	// +listType=map
	// +listMapKey=pod
	// +k8s:optional
	Monitors []MonitorView `json:"monitors,omitempty"`
}

// ReplicationMember is one node as it describes itself.
type ReplicationMember struct {
	// node is the name of the ValkeyNode.
	// +required
	Node string `json:"node"`
	// address is host:port of the node.
	// +optional
	Address string `json:"address,omitempty"`
	// role the node reports.
	// +optional
	Role Role `json:"role,omitempty"`
	// replicaOf is host:port of the primary it follows.
	// +optional
	ReplicaOf string `json:"replicaOf,omitempty"`
	// linkUp is whether the link to its primary is up.
	// +optional
	LinkUp bool `json:"linkUp,omitempty"`
	// syncInProgress is whether a full sync is running.
	// +optional
	SyncInProgress bool `json:"syncInProgress,omitempty"`
	// replicationID of the history it holds.
	// +optional
	ReplicationID string `json:"replicationID,omitempty"`
	// offset in the replication stream, in bytes.
	// +optional
	Offset int64 `json:"offset,omitempty"`
	// lagBytes behind the primary's offset.
	// +optional
	LagBytes int64 `json:"lagBytes,omitempty"`
	// keys in all databases.
	// +optional
	Keys int64 `json:"keys,omitempty"`
	// error says why the node did not answer.
	// +optional
	Error string `json:"error,omitempty"`
}
