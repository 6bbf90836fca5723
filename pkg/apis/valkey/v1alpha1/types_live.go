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
	// +k8s:opaqueType
	metav1.TypeMeta `json:""`
	// Standard object's metadata; the name, where given, must be that of the parent.
	// +optional
	// +k8s:opaqueType
	metav1.ObjectMeta `json:"metadata,omitempty" protobuf:"bytes,1,opt,name=metadata"`

	// spec is what is asked for.
	// +optional
	Spec FailoverRequestSpec `json:"spec,omitempty,omitzero" protobuf:"bytes,2,opt,name=spec"`
	// status is the answer.
	// +optional
	Status FailoverRequestStatus `json:"status,omitempty,omitzero" protobuf:"bytes,3,opt,name=status"`
}

// +genclient
// +genclient:onlyVerbs=create
// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object

// FailoverRequest asks for a change of the primary of the Valkey that its spec names. It can only be created, is stored nowhere, and is
// answered with its status: what Failover is for a subresource, this is for a manifest.
type FailoverRequest struct {
	// +k8s:opaqueType
	metav1.TypeMeta `json:""`
	// Standard object's metadata; only the namespace counts.
	// +optional
	// +k8s:opaqueType
	metav1.ObjectMeta `json:"metadata,omitempty" protobuf:"bytes,1,opt,name=metadata"`

	// spec is what is asked for.
	// +optional
	Spec FailoverRequestSpec `json:"spec,omitempty,omitzero" protobuf:"bytes,2,opt,name=spec"`
	// status is the answer.
	// +optional
	Status FailoverRequestStatus `json:"status,omitempty,omitzero" protobuf:"bytes,3,opt,name=status"`
}

// FailoverRequestSpec is what is asked for.
type FailoverRequestSpec struct {
	// valkey to fail over: required in a FailoverRequest and on a ValkeySentinel that monitors several, not used on a Valkey.
	// +optional
	// +k8s:optional
	Valkey string `json:"valkey,omitempty" protobuf:"bytes,1,opt,name=valkey"`
	// to is the ValkeyNode that shall become primary. Default: the replica that is furthest.
	// +optional
	// +k8s:optional
	To string `json:"to,omitempty" protobuf:"bytes,2,opt,name=to"`
	// mode is Coordinated (default) or Forced.
	// +optional
	// +default="Coordinated"
	// +k8s:optional
	Mode FailoverRunMode `json:"mode,omitempty" protobuf:"bytes,3,opt,name=mode,casttype=FailoverRunMode"`
	// timeoutSeconds is how long the call may take, in seconds, 1 to 30. Default 25.
	// +optional
	// +default=25
	// +k8s:optional
	// +k8s:minimum=1
	// +k8s:maximum=30
	TimeoutSeconds int32 `json:"timeoutSeconds,omitempty" protobuf:"varint,4,opt,name=timeoutSeconds"`
	// preconditions that must hold, or nothing is done.
	// +optional
	// +k8s:optional
	Preconditions *FailoverPreconditions `json:"preconditions,omitempty" protobuf:"bytes,5,opt,name=preconditions"`
}

// FailoverPreconditions must hold, or the failover is refused with 409.
type FailoverPreconditions struct {
	// uid the parent must have.
	// +optional
	// +k8s:optional
	UID *types.UID `json:"uid,omitempty" protobuf:"bytes,1,opt,name=uid,casttype=k8s.io/apimachinery/pkg/types.UID"`
	// resourceVersion the parent must have.
	// +optional
	// +k8s:optional
	ResourceVersion *string `json:"resourceVersion,omitempty" protobuf:"bytes,2,opt,name=resourceVersion"`
}

// FailoverRequestStatus is the answer to a failover.
type FailoverRequestStatus struct {
	// phase is Succeeded, or InProgress (it still runs; the parent's status tells the end). Pending in a dry run. A failover that
	// failed is answered with an error, which says what went wrong and what was undone.
	// +optional
	// +k8s:optional
	Phase OperationPhase `json:"phase,omitempty" protobuf:"bytes,1,opt,name=phase,casttype=OperationPhase"`
	// uid of the operation in the parent's status.operation.
	// +optional
	// +k8s:optional
	OperationUID string `json:"operationUID,omitempty" protobuf:"bytes,2,opt,name=operationUID"`
	// from is the node that was primary.
	// +optional
	// +k8s:optional
	From string `json:"from,omitempty" protobuf:"bytes,3,opt,name=from"`
	// to is the node that became primary.
	// +optional
	// +k8s:optional
	To string `json:"to,omitempty" protobuf:"bytes,4,opt,name=to"`
	// coordinated is whether writes were paused and the target had all of them.
	// +optional
	// +k8s:optional
	Coordinated bool `json:"coordinated,omitempty" protobuf:"varint,5,opt,name=coordinated"`
	// startedAt is when it was claimed.
	// +optional
	// +k8s:opaqueType
	StartedAt metav1.Time `json:"startedAt,omitempty,omitzero" protobuf:"bytes,6,opt,name=startedAt"`
	// duration from the claim to the new primary's first answer as primary.
	// +optional
	// +k8s:optional
	// +k8s:opaqueType
	Duration *metav1.Duration `json:"duration,omitempty" protobuf:"bytes,7,opt,name=duration"`
	// message says more.
	// +optional
	// +k8s:optional
	Message string `json:"message,omitempty" protobuf:"bytes,8,opt,name=message"`
}

// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object

// MonitorList is what each Sentinel says now about each monitor: the answer of the subresource "monitors" of a ValkeySentinel, and the
// list of the resource "monitors", which is stored nowhere.
type MonitorList struct {
	// +k8s:opaqueType
	metav1.TypeMeta `json:""`
	// Standard list metadata.
	// +optional
	// +k8s:opaqueType
	metav1.ListMeta `json:"metadata,omitempty" protobuf:"bytes,1,opt,name=metadata"`
	// observedAt is when the Sentinels were asked.
	// +optional
	// +k8s:opaqueType
	ObservedAt metav1.MicroTime `json:"observedAt,omitempty,omitzero" protobuf:"bytes,2,opt,name=observedAt"`
	// sentinels that were asked, with the error of each that did not answer. Only in the answer of the subresource.
	// +optional
	// +listType=map
	// +listMapKey=pod
	// +k8s:optional
	Sentinels []SentinelAnswer `json:"sentinels,omitempty" protobuf:"bytes,3,rep,name=sentinels"`
	// items are the monitors.
	// +optional
	// +k8s:optional
	Items []Monitor `json:"items" protobuf:"bytes,4,rep,name=items"`
}

// SentinelAnswer is whether a Sentinel answered.
type SentinelAnswer struct {
	// pod of the Sentinel.
	// +required
	Pod string `json:"pod" protobuf:"bytes,1,opt,name=pod"`
	// id of the Sentinel.
	// +optional
	ID string `json:"id,omitempty" protobuf:"bytes,2,opt,name=id"`
	// error says why it did not answer.
	// +optional
	Error string `json:"error,omitempty" protobuf:"bytes,3,opt,name=error"`
}

// +genclient
// +genclient:onlyVerbs=get,list,watch
// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object

// Monitor is one monitored Valkey as every Sentinel of a ValkeySentinel sees it now. It is stored nowhere. Its name is that of the
// ValkeySentinel, a dot, and the name of the monitor.
type Monitor struct {
	// +k8s:opaqueType
	metav1.TypeMeta `json:""`
	// Standard object's metadata.
	// +optional
	// +k8s:opaqueType
	metav1.ObjectMeta `json:"metadata,omitempty" protobuf:"bytes,1,opt,name=metadata"`
	// sentinel is the ValkeySentinel whose Sentinels are asked.
	// +optional
	// +k8s:optional
	Sentinel string `json:"sentinel,omitempty" protobuf:"bytes,2,opt,name=sentinel"`
	// monitorName under which clients ask these Sentinels for the primary.
	// +optional
	// +k8s:optional
	MonitorName string `json:"monitorName,omitempty" protobuf:"bytes,3,opt,name=monitorName"`
	// valkey that it watches, where it is known.
	// +optional
	// +k8s:optional
	Valkey string `json:"valkey,omitempty" protobuf:"bytes,4,opt,name=valkey"`
	// primaryAddress is host:port of the primary as most Sentinels see it.
	// +optional
	// +k8s:optional
	PrimaryAddress string `json:"primaryAddress,omitempty" protobuf:"bytes,5,opt,name=primaryAddress"`
	// agreed is whether every Sentinel that answered names the same primary.
	// +optional
	// +k8s:optional
	Agreed bool `json:"agreed,omitempty" protobuf:"varint,6,opt,name=agreed"`
	// quorum that is set.
	// +optional
	// +k8s:optional
	Quorum int32 `json:"quorum,omitempty" protobuf:"varint,7,opt,name=quorum"`
	// ok is whether a failover could be agreed on and authorised now.
	// +optional
	// +k8s:optional
	OK bool `json:"ok,omitempty" protobuf:"varint,8,opt,name=ok"`
	// views are the Sentinels' own answers.
	// +optional
	// +listType=map
	// +listMapKey=pod
	// +k8s:optional
	Views []MonitorView `json:"views,omitempty" protobuf:"bytes,9,rep,name=views"`
}

// MonitorView is one Sentinel's own view of a monitor.
type MonitorView struct {
	// pod of the Sentinel.
	// +required
	Pod string `json:"pod" protobuf:"bytes,1,opt,name=pod"`
	// registered is whether this Sentinel knows the monitor.
	// +optional
	Registered bool `json:"registered,omitempty" protobuf:"varint,2,opt,name=registered"`
	// primaryAddress is host:port of the primary as this Sentinel sees it.
	// +optional
	PrimaryAddress string `json:"primaryAddress,omitempty" protobuf:"bytes,3,opt,name=primaryAddress"`
	// flags of the primary, such as "master" or "master,s_down".
	// +optional
	Flags string `json:"flags,omitempty" protobuf:"bytes,4,opt,name=flags"`
	// quorum that is set on this Sentinel.
	// +optional
	Quorum int32 `json:"quorum,omitempty" protobuf:"varint,5,opt,name=quorum"`
	// quorumMessage is this Sentinel's answer to CKQUORUM.
	// +optional
	QuorumMessage string `json:"quorumMessage,omitempty" protobuf:"bytes,6,opt,name=quorumMessage"`
	// replicas this Sentinel knows.
	// +optional
	Replicas int32 `json:"replicas,omitempty" protobuf:"varint,7,opt,name=replicas"`
	// otherSentinels this Sentinel knows.
	// +optional
	OtherSentinels int32 `json:"otherSentinels,omitempty" protobuf:"varint,8,opt,name=otherSentinels"`
	// configEpoch of the monitor.
	// +optional
	ConfigEpoch int64 `json:"configEpoch,omitempty" protobuf:"varint,9,opt,name=configEpoch"`
	// failoverState is the step of a failover that this Sentinel leads, where it does.
	// +optional
	FailoverState string `json:"failoverState,omitempty" protobuf:"bytes,10,opt,name=failoverState"`
	// error is the class of the reason for which this Sentinel did not answer, such as "Unreachable" or "Timeout".
	// +optional
	Error string `json:"error,omitempty" protobuf:"bytes,11,opt,name=error"`
}

// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object
// +k8s:isSubresource="/replication"

// Replication is the live answer of "replication": what every member says now.
type Replication struct {
	// +k8s:opaqueType
	metav1.TypeMeta `json:""`
	// Standard object's metadata; that of the Valkey.
	// +optional
	// +k8s:opaqueType
	metav1.ObjectMeta `json:"metadata,omitempty" protobuf:"bytes,1,opt,name=metadata"`
	// observedAt is when the members were asked.
	// +optional
	// +k8s:opaqueType
	ObservedAt metav1.MicroTime `json:"observedAt,omitempty,omitzero" protobuf:"bytes,2,opt,name=observedAt"`
	// primary is the node that is primary, where exactly one is.
	// +optional
	// +k8s:optional
	Primary string `json:"primary,omitempty" protobuf:"bytes,3,opt,name=primary"`
	// members, one each node.
	// +optional
	// +listType=map
	// +listMapKey=node
	// +k8s:optional
	Members []ReplicationMember `json:"members,omitempty" protobuf:"bytes,4,rep,name=members"`
	// monitors are the Sentinels' views, with mode Sentinel.
	// +optional
	// +listType=map
	// +listMapKey=pod
	// +k8s:optional
	Monitors []MonitorView `json:"monitors,omitempty" protobuf:"bytes,5,rep,name=monitors"`
}

// ReplicationMember is one node as it describes itself.
type ReplicationMember struct {
	// node is the name of the ValkeyNode.
	// +required
	Node string `json:"node" protobuf:"bytes,1,opt,name=node"`
	// address is host:port of the node.
	// +optional
	Address string `json:"address,omitempty" protobuf:"bytes,2,opt,name=address"`
	// role the node reports.
	// +optional
	Role Role `json:"role,omitempty" protobuf:"bytes,3,opt,name=role,casttype=Role"`
	// replicaOf is host:port of the primary it follows.
	// +optional
	ReplicaOf string `json:"replicaOf,omitempty" protobuf:"bytes,4,opt,name=replicaOf"`
	// linkUp is whether the link to its primary is up.
	// +optional
	LinkUp bool `json:"linkUp,omitempty" protobuf:"varint,5,opt,name=linkUp"`
	// syncInProgress is whether a full sync is running.
	// +optional
	SyncInProgress bool `json:"syncInProgress,omitempty" protobuf:"varint,6,opt,name=syncInProgress"`
	// replicationID of the history it holds.
	// +optional
	ReplicationID string `json:"replicationID,omitempty" protobuf:"bytes,7,opt,name=replicationID"`
	// offset in the replication stream, in bytes.
	// +optional
	Offset int64 `json:"offset,omitempty" protobuf:"varint,8,opt,name=offset"`
	// lagBytes behind the primary's offset.
	// +optional
	LagBytes int64 `json:"lagBytes,omitempty" protobuf:"varint,9,opt,name=lagBytes"`
	// synced is whether it holds what the primary does: it is the primary, or follows it with its link up and its copy complete.
	// +optional
	Synced bool `json:"synced,omitempty" protobuf:"varint,12,opt,name=synced"`
	// keys in all databases.
	// +optional
	Keys int64 `json:"keys,omitempty" protobuf:"varint,10,opt,name=keys"`
	// error says why the node did not answer.
	// +optional
	Error string `json:"error,omitempty" protobuf:"bytes,11,opt,name=error"`
}
