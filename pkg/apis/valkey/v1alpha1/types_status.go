// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// State sums a status up in one word.
// +enum
type State string

const (
	// StateInitializing means the first pods have not all been ready yet.
	StateInitializing State = "Initializing"
	// StateReconciling means a change is on its way.
	StateReconciling State = "Reconciling"
	// StateReady means everything is as wanted.
	StateReady State = "Ready"
	// StateDegraded means it serves, with less than wanted.
	StateDegraded State = "Degraded"
	// StateFailed means it does not serve.
	StateFailed State = "Failed"
)

// Role is the part a node plays in replication.
// +enum
type Role string

const (
	// RolePrimary accepts writes.
	RolePrimary Role = "primary"
	// RoleReplica follows a primary.
	RoleReplica Role = "replica"
	// RoleUnknown means the node could not be asked.
	RoleUnknown Role = "unknown"
)

// ValkeyStatus is what is, as last seen by the controller. Nothing in it moves while nothing happens.
type ValkeyStatus struct {
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
	// primary is the name of the ValkeyNode that is primary.
	// +optional
	// +k8s:optional
	Primary string `json:"primary,omitempty" protobuf:"bytes,4,opt,name=primary"`
	// primaryAddress is host:port of the primary.
	// +optional
	// +k8s:optional
	PrimaryAddress string `json:"primaryAddress,omitempty" protobuf:"bytes,5,opt,name=primaryAddress"`
	// replicas is how many nodes exist, the primary included.
	// +optional
	// +k8s:optional
	Replicas int32 `json:"replicas,omitempty" protobuf:"varint,6,opt,name=replicas"`
	// readyReplicas is how many nodes are ready, the primary included.
	// +optional
	// +k8s:optional
	ReadyReplicas int32 `json:"readyReplicas,omitempty" protobuf:"varint,7,opt,name=readyReplicas"`
	// syncedReplicas is how many replicas follow the primary with their link up.
	// +optional
	// +k8s:optional
	SyncedReplicas int32 `json:"syncedReplicas,omitempty" protobuf:"varint,8,opt,name=syncedReplicas"`
	// selector of the pods, for the scale subresource.
	// +optional
	// +k8s:optional
	Selector string `json:"selector,omitempty" protobuf:"bytes,9,opt,name=selector"`
	// members are the nodes, as seen. Offsets and lag are in the live subresource "replication".
	// +optional
	// +listType=map
	// +listMapKey=node
	// +patchMergeKey=node
	// +patchStrategy=merge
	// +k8s:optional
	// +k8s:listType=map
	// +k8s:listMapKey=node
	Members []MemberStatus `json:"members,omitempty" patchStrategy:"merge" patchMergeKey:"node" protobuf:"bytes,10,rep,name=members"`
	// monitoring is what the Sentinels hold, with mode Sentinel.
	// +optional
	// +k8s:optional
	Monitoring *MonitoringStatus `json:"monitoring,omitempty" protobuf:"bytes,11,opt,name=monitoring"`
	// sentinelCredentialsSecret is where Sentinel clients find the password, where one is needed.
	// +optional
	// +k8s:optional
	SentinelCredentialsSecret *SecretKeyRef `json:"sentinelCredentialsSecret,omitempty" protobuf:"bytes,12,opt,name=sentinelCredentialsSecret"`
	// operation is a disruptive operation that is claimed or running.
	// +optional
	// +k8s:optional
	Operation *OperationStatus `json:"operation,omitempty" protobuf:"bytes,13,opt,name=operation"`
	// lastFailover is the last change of the primary.
	// +optional
	// +k8s:optional
	LastFailover *FailoverRecord `json:"lastFailover,omitempty" protobuf:"bytes,14,opt,name=lastFailover"`
	// observedGeneration is the generation of the spec that this status is about.
	// +optional
	// +k8s:optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty" protobuf:"varint,15,opt,name=observedGeneration"`
	// conditions: Ready, Progressing, Degraded, ConfigurationWarning, PrimaryElected, ReplicationHealthy, Monitored, SentinelQuorumHealthy.
	// +optional
	// +listType=map
	// +listMapKey=type
	// +patchMergeKey=type
	// +patchStrategy=merge
	// +k8s:optional
	// +k8s:listType=map
	// +k8s:listMapKey=type
	// +k8s:eachVal=+k8s:opaqueType
	Conditions []metav1.Condition `json:"conditions,omitempty" patchStrategy:"merge" patchMergeKey:"type" protobuf:"bytes,16,rep,name=conditions"`
}

// MemberStatus is one node of a Valkey, as seen.
type MemberStatus struct {
	// node is the name of the ValkeyNode.
	// +required
	// +k8s:required
	Node string `json:"node" protobuf:"bytes,1,opt,name=node"`
	// pod that runs the node.
	// +optional
	// +k8s:optional
	Pod string `json:"pod,omitempty" protobuf:"bytes,2,opt,name=pod"`
	// role the server itself reports.
	// +optional
	// +k8s:optional
	Role Role `json:"role,omitempty" protobuf:"bytes,3,opt,name=role,casttype=Role"`
	// synced is whether the node holds the primary's data: always true for the primary, else link up and no sync running.
	// +optional
	// +k8s:optional
	Synced bool `json:"synced,omitempty" protobuf:"varint,4,opt,name=synced"`
	// linkUp is whether a replica's link to its primary is up.
	// +optional
	// +k8s:optional
	LinkUp bool `json:"linkUp,omitempty" protobuf:"varint,5,opt,name=linkUp"`
	// reason says in one word what is wrong, where something is.
	// +optional
	// +k8s:optional
	Reason string `json:"reason,omitempty" protobuf:"bytes,6,opt,name=reason"`
}

// MonitoringStatus is what the Sentinels hold about a Valkey.
type MonitoringStatus struct {
	// sentinel is the ValkeySentinel that monitors this Valkey.
	// +optional
	// +k8s:optional
	Sentinel string `json:"sentinel,omitempty" protobuf:"bytes,1,opt,name=sentinel"`
	// conflicting are ValkeySentinels that select this Valkey too and leave it alone.
	// +optional
	// +listType=set
	// +k8s:optional
	// +k8s:listType=set
	Conflicting []string `json:"conflicting,omitempty" protobuf:"bytes,2,rep,name=conflicting"`
	// monitorName is the name to ask the Sentinels for.
	// +optional
	// +k8s:optional
	MonitorName string `json:"monitorName,omitempty" protobuf:"bytes,3,opt,name=monitorName"`
	// registered is whether every Sentinel holds the monitor at the real primary.
	// +optional
	// +k8s:optional
	Registered bool `json:"registered,omitempty" protobuf:"varint,4,opt,name=registered"`
	// quorum is how many Sentinels must agree that the primary is down.
	// +optional
	// +k8s:optional
	Quorum int32 `json:"quorum,omitempty" protobuf:"varint,5,opt,name=quorum"`
	// availableQuorum is how many Sentinels are usable for this monitor now.
	// +optional
	// +k8s:optional
	AvailableQuorum int32 `json:"availableQuorum,omitempty" protobuf:"varint,6,opt,name=availableQuorum"`
}

// SecretKeyRef names a key of a Secret of this namespace.
type SecretKeyRef struct {
	// name of the Secret.
	// +required
	// +k8s:required
	Name string `json:"name" protobuf:"bytes,1,opt,name=name"`
	// key in the Secret.
	// +required
	// +k8s:required
	Key string `json:"key" protobuf:"bytes,2,opt,name=key"`
}

// OperationType names a disruptive operation.
// +enum
type OperationType string

const (
	// OperationFailover is a change of the primary that somebody asked for.
	OperationFailover OperationType = "Failover"
)

// OperationPhase is how far an operation is.
// +enum
type OperationPhase string

const (
	// OperationPending is claimed and not begun.
	OperationPending OperationPhase = "Pending"
	// OperationInProgress runs.
	OperationInProgress OperationPhase = "InProgress"
	// OperationSucceeded has ended as wanted.
	OperationSucceeded OperationPhase = "Succeeded"
	// OperationFailed has ended without effect; what was begun has been undone.
	OperationFailed OperationPhase = "Failed"
)

// OperationStatus is a claim on a disruptive operation. While it is fresh nobody else begins one.
type OperationStatus struct {
	// type of the operation.
	// +optional
	// +k8s:optional
	Type OperationType `json:"type,omitempty" protobuf:"bytes,1,opt,name=type,casttype=OperationType"`
	// uid of this operation; whoever asked holds it too.
	// +optional
	// +k8s:optional
	UID string `json:"uid,omitempty" protobuf:"bytes,2,opt,name=uid"`
	// requestedBy is the user that asked for it.
	// +optional
	// +k8s:optional
	RequestedBy string `json:"requestedBy,omitempty" protobuf:"bytes,3,opt,name=requestedBy"`
	// from is the node that was primary.
	// +optional
	// +k8s:optional
	From string `json:"from,omitempty" protobuf:"bytes,4,opt,name=from"`
	// to is the node that is to become primary.
	// +optional
	// +k8s:optional
	To string `json:"to,omitempty" protobuf:"bytes,5,opt,name=to"`
	// startedAt is when it was claimed.
	// +optional
	// +k8s:opaqueType
	StartedAt metav1.Time `json:"startedAt,omitempty,omitzero" protobuf:"bytes,6,opt,name=startedAt"`
	// expiresAt is when the claim is void, whatever became of its owner.
	// +optional
	// +k8s:opaqueType
	ExpiresAt metav1.Time `json:"expiresAt,omitempty,omitzero" protobuf:"bytes,7,opt,name=expiresAt"`
	// phase is how far it is.
	// +optional
	// +k8s:optional
	Phase OperationPhase `json:"phase,omitempty" protobuf:"bytes,8,opt,name=phase,casttype=OperationPhase"`
	// message says more, such as why it failed.
	// +optional
	// +k8s:optional
	Message string `json:"message,omitempty" protobuf:"bytes,9,opt,name=message"`
}

// FailoverCause says why the primary changed.
// +enum
type FailoverCause string

const (
	// FailoverCauseRequested means that a person or a program asked for it.
	FailoverCauseRequested FailoverCause = "Requested"
	// FailoverCauseSentinel means that the Sentinels decided it.
	FailoverCauseSentinel FailoverCause = "Sentinel"
	// FailoverCauseOperator means that the controller decided it because the primary was lost.
	FailoverCauseOperator FailoverCause = "Operator"
	// FailoverCauseRoll means that the primary was handed over so that its pod could be replaced.
	FailoverCauseRoll FailoverCause = "Roll"
)

// FailoverRecord is a change of the primary that has happened.
type FailoverRecord struct {
	// from is the node that was primary.
	// +optional
	// +k8s:optional
	From string `json:"from,omitempty" protobuf:"bytes,1,opt,name=from"`
	// to is the node that became primary.
	// +optional
	// +k8s:optional
	To string `json:"to,omitempty" protobuf:"bytes,2,opt,name=to"`
	// cause says why.
	// +optional
	// +k8s:optional
	Cause FailoverCause `json:"cause,omitempty" protobuf:"bytes,3,opt,name=cause,casttype=FailoverCause"`
	// startedAt is when it began, or when it was noticed.
	// +optional
	// +k8s:opaqueType
	StartedAt metav1.Time `json:"startedAt,omitempty,omitzero" protobuf:"bytes,4,opt,name=startedAt"`
	// duration of it, where it is known.
	// +optional
	// +k8s:optional
	// +k8s:opaqueType
	Duration *metav1.Duration `json:"duration,omitempty" protobuf:"bytes,5,opt,name=duration"`
}
