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
	State State `json:"state,omitempty"`
	// reason for the state, one word.
	// +optional
	// +k8s:optional
	Reason string `json:"reason,omitempty"`
	// message says the reason to a person.
	// +optional
	// +k8s:optional
	Message string `json:"message,omitempty"`
	// primary is the name of the ValkeyNode that is primary.
	// +optional
	// +k8s:optional
	Primary string `json:"primary,omitempty"`
	// primaryAddress is host:port of the primary.
	// +optional
	// +k8s:optional
	PrimaryAddress string `json:"primaryAddress,omitempty"`
	// replicas is how many nodes exist, the primary included.
	// +optional
	// +k8s:optional
	Replicas int32 `json:"replicas,omitempty"`
	// readyReplicas is how many nodes are ready, the primary included.
	// +optional
	// +k8s:optional
	ReadyReplicas int32 `json:"readyReplicas,omitempty"`
	// syncedReplicas is how many replicas follow the primary with their link up.
	// +optional
	// +k8s:optional
	SyncedReplicas int32 `json:"syncedReplicas,omitempty"`
	// selector of the pods, for the scale subresource.
	// +optional
	// +k8s:optional
	Selector string `json:"selector,omitempty"`
	// members are the nodes, as seen. Offsets and lag are in the live subresource "replication".
	// +optional
	// +listType=map
	// +listMapKey=node
	// +k8s:optional
	// +k8s:listType=map
	// +k8s:listMapKey=node
	Members []MemberStatus `json:"members,omitempty"`
	// monitoring is what the Sentinels hold, with mode Sentinel.
	// +optional
	// +k8s:optional
	Monitoring *MonitoringStatus `json:"monitoring,omitempty"`
	// sentinelCredentialsSecret is where Sentinel clients find the password, where one is needed.
	// +optional
	// +k8s:optional
	SentinelCredentialsSecret *SecretKeyRef `json:"sentinelCredentialsSecret,omitempty"`
	// operation is a disruptive operation that is claimed or running.
	// +optional
	// +k8s:optional
	Operation *OperationStatus `json:"operation,omitempty"`
	// lastFailover is the last change of the primary.
	// +optional
	// +k8s:optional
	LastFailover *FailoverRecord `json:"lastFailover,omitempty"`
	// observedGeneration is the generation of the spec that this status is about.
	// +optional
	// +k8s:optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	// conditions: Ready, Progressing, Degraded, ConfigurationWarning, PrimaryElected, ReplicationHealthy, Monitored, SentinelQuorumHealthy.
	// +optional
	// +listType=map
	// +listMapKey=type
	// +k8s:optional
	// +k8s:listType=map
	// +k8s:listMapKey=type
	// +k8s:eachVal=+k8s:opaqueType
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// MemberStatus is one node of a Valkey, as seen.
type MemberStatus struct {
	// node is the name of the ValkeyNode.
	// +required
	// +k8s:required
	Node string `json:"node"`
	// pod that runs the node.
	// +optional
	// +k8s:optional
	Pod string `json:"pod,omitempty"`
	// role the server itself reports.
	// +optional
	// +k8s:optional
	Role Role `json:"role,omitempty"`
	// synced is whether the node holds the primary's data: always true for the primary, else link up and no sync running.
	// +optional
	// +k8s:optional
	Synced bool `json:"synced,omitempty"`
	// linkUp is whether a replica's link to its primary is up.
	// +optional
	// +k8s:optional
	LinkUp bool `json:"linkUp,omitempty"`
	// reason says in one word what is wrong, where something is.
	// +optional
	// +k8s:optional
	Reason string `json:"reason,omitempty"`
}

// MonitoringStatus is what the Sentinels hold about a Valkey.
type MonitoringStatus struct {
	// sentinel is the ValkeySentinel that monitors this Valkey.
	// +optional
	// +k8s:optional
	Sentinel string `json:"sentinel,omitempty"`
	// conflicting are ValkeySentinels that select this Valkey too and leave it alone.
	// +optional
	// +listType=set
	// +k8s:optional
	// +k8s:listType=set
	Conflicting []string `json:"conflicting,omitempty"`
	// monitorName is the name to ask the Sentinels for.
	// +optional
	// +k8s:optional
	MonitorName string `json:"monitorName,omitempty"`
	// registered is whether every Sentinel holds the monitor at the real primary.
	// +optional
	// +k8s:optional
	Registered bool `json:"registered,omitempty"`
	// quorum is how many Sentinels must agree that the primary is down.
	// +optional
	// +k8s:optional
	Quorum int32 `json:"quorum,omitempty"`
	// availableQuorum is how many Sentinels are usable for this monitor now.
	// +optional
	// +k8s:optional
	AvailableQuorum int32 `json:"availableQuorum,omitempty"`
}

// SecretKeyRef names a key of a Secret of this namespace.
type SecretKeyRef struct {
	// name of the Secret.
	// +required
	// +k8s:required
	Name string `json:"name"`
	// key in the Secret.
	// +required
	// +k8s:required
	Key string `json:"key"`
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
	Type OperationType `json:"type,omitempty"`
	// uid of this operation; whoever asked holds it too.
	// +optional
	// +k8s:optional
	UID string `json:"uid,omitempty"`
	// requestedBy is the user that asked for it.
	// +optional
	// +k8s:optional
	RequestedBy string `json:"requestedBy,omitempty"`
	// from is the node that was primary.
	// +optional
	// +k8s:optional
	From string `json:"from,omitempty"`
	// to is the node that is to become primary.
	// +optional
	// +k8s:optional
	To string `json:"to,omitempty"`
	// startedAt is when it was claimed.
	// +optional
	// +k8s:optional
	StartedAt metav1.Time `json:"startedAt,omitempty"`
	// expiresAt is when the claim is void, whatever became of its owner.
	// +optional
	// +k8s:optional
	ExpiresAt metav1.Time `json:"expiresAt,omitempty"`
	// phase is how far it is.
	// +optional
	// +k8s:optional
	Phase OperationPhase `json:"phase,omitempty"`
	// message says more, such as why it failed.
	// +optional
	// +k8s:optional
	Message string `json:"message,omitempty"`
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
	From string `json:"from,omitempty"`
	// to is the node that became primary.
	// +optional
	// +k8s:optional
	To string `json:"to,omitempty"`
	// cause says why.
	// +optional
	// +k8s:optional
	Cause FailoverCause `json:"cause,omitempty"`
	// startedAt is when it began, or when it was noticed.
	// +optional
	// +k8s:optional
	StartedAt metav1.Time `json:"startedAt,omitempty"`
	// duration of it, where it is known.
	// +optional
	// +k8s:optional
	Duration *metav1.Duration `json:"duration,omitempty"`
}
