// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package valkey

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// FailoverRunMode says how a failover is carried out.
type FailoverRunMode string

const (
	// FailoverCoordinated pauses writes, waits until the target has all of them, and promotes it: no acknowledged write is lost.
	FailoverCoordinated FailoverRunMode = "Coordinated"
	// FailoverForced promotes at once; writes that the target does not have are lost.
	FailoverForced FailoverRunMode = "Forced"
)

// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object

// Failover asks for a change of the primary; POST it to the subresource "failover" of a Valkey or ValkeySentinel. An empty body is valid.
type Failover struct {
	metav1.TypeMeta
	metav1.ObjectMeta

	Spec   FailoverRequestSpec
	Status FailoverRequestStatus
}

// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object

// FailoverRequest asks for a change of the primary of the Valkey that its spec names. It can only be created, is stored nowhere, and is
// answered with its status.
type FailoverRequest struct {
	metav1.TypeMeta
	metav1.ObjectMeta

	Spec   FailoverRequestSpec
	Status FailoverRequestStatus
}

// FailoverRequestSpec is what is asked for.
type FailoverRequestSpec struct {
	Valkey         string
	To             string
	Mode           FailoverRunMode
	TimeoutSeconds int32
	Preconditions  *FailoverPreconditions
}

// FailoverPreconditions must hold, or the failover is refused with 409.
type FailoverPreconditions struct {
	UID             *types.UID
	ResourceVersion *string
}

// FailoverRequestStatus is the answer to a failover.
type FailoverRequestStatus struct {
	Phase        OperationPhase
	OperationUID string
	From         string
	To           string
	Coordinated  bool
	StartedAt    metav1.Time
	Duration     *metav1.Duration
	Message      string
}

// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object

// MonitorList is what each Sentinel says now about each monitor: the answer of the subresource "monitors" of a ValkeySentinel, and the
// list of the resource "monitors", which is stored nowhere.
type MonitorList struct {
	metav1.TypeMeta
	metav1.ListMeta
	ObservedAt metav1.MicroTime
	Sentinels  []SentinelAnswer
	Items      []Monitor
}

// SentinelAnswer is whether a Sentinel answered.
type SentinelAnswer struct {
	Pod   string
	ID    string
	Error string
}

// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object

// Monitor is one monitored Valkey as every Sentinel of a ValkeySentinel sees it now. It is stored nowhere. Its name is that of the
// ValkeySentinel, a dot, and the name of the monitor.
type Monitor struct {
	metav1.TypeMeta
	metav1.ObjectMeta
	Sentinel       string
	MonitorName    string
	Valkey         string
	PrimaryAddress string
	Agreed         bool
	Quorum         int32
	OK             bool
	Views          []MonitorView
}

// MonitorView is one Sentinel's own view of a monitor.
type MonitorView struct {
	Pod            string
	Registered     bool
	PrimaryAddress string
	Flags          string
	Quorum         int32
	QuorumMessage  string
	Replicas       int32
	OtherSentinels int32
	ConfigEpoch    int64
	FailoverState  string
	Error          string
}

// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object

// Replication is the live answer of "replication": what every member says now.
type Replication struct {
	metav1.TypeMeta
	metav1.ObjectMeta
	ObservedAt metav1.MicroTime
	Primary    string
	Members    []ReplicationMember
	Monitors   []MonitorView
}

// ReplicationMember is one node as it describes itself.
type ReplicationMember struct {
	Node           string
	Address        string
	Role           Role
	ReplicaOf      string
	LinkUp         bool
	SyncInProgress bool
	ReplicationID  string
	Offset         int64
	LagBytes       int64
	Synced         bool
	Keys           int64
	Error          string
}
