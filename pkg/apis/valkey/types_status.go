// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package valkey

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// State sums a status up in one word.
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
	State                     State
	Reason                    string
	Message                   string
	Primary                   string
	PrimaryAddress            string
	Replicas                  int32
	ReadyReplicas             int32
	SyncedReplicas            int32
	Selector                  string
	Members                   []MemberStatus
	Monitoring                *MonitoringStatus
	SentinelCredentialsSecret *SecretKeyRef
	Operation                 *OperationStatus
	LastFailover              *FailoverRecord
	ObservedGeneration        int64
	Conditions                []metav1.Condition
}

// MemberStatus is one node of a Valkey, as seen.
type MemberStatus struct {
	Node   string
	Pod    string
	Role   Role
	Synced bool
	LinkUp bool
	Reason string
}

// MonitoringStatus is what the Sentinels hold about a Valkey.
type MonitoringStatus struct {
	Sentinel        string
	Conflicting     []string
	MonitorName     string
	Registered      bool
	Quorum          int32
	AvailableQuorum int32
}

// SecretKeyRef names a key of a Secret of this namespace.
type SecretKeyRef struct {
	Name string
	Key  string
}

// OperationType names a disruptive operation.
type OperationType string

const (
	// OperationFailover is a change of the primary that somebody asked for.
	OperationFailover OperationType = "Failover"
)

// OperationPhase is how far an operation is.
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
	Type        OperationType
	UID         string
	RequestedBy string
	From        string
	To          string
	StartedAt   metav1.Time
	ExpiresAt   metav1.Time
	Phase       OperationPhase
	Message     string
}

// FailoverCause says why the primary changed.
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
	From      string
	To        string
	Cause     FailoverCause
	StartedAt metav1.Time
	Duration  *metav1.Duration
}
