// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package valkey

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object

// Valkey is one dataset: a primary and spec.replicas replicas that follow it.
type Valkey struct {
	metav1.TypeMeta
	metav1.ObjectMeta

	Spec   ValkeySpec
	Status ValkeyStatus
}

// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object

// ValkeyList is a list of Valkeys.
type ValkeyList struct {
	metav1.TypeMeta
	metav1.ListMeta
	Items []Valkey
}

// ValkeySpec is what a person wants of a Valkey.
type ValkeySpec struct {
	Replicas                      int32
	Failover                      FailoverSpec
	Image                         string
	ImagePullSecrets              []corev1.LocalObjectReference
	Resources                     corev1.ResourceRequirements
	Scheduling                    SchedulingSpec
	Exporter                      ExporterSpec
	WorkloadType                  WorkloadType
	Persistence                   *PersistenceSpec
	Users                         []UserSpec
	Containers                    []corev1.Container
	Config                        map[string]string
	Networking                    NetworkingSpec
	PodDisruptionBudget           PodDisruptionBudgetSpec
	PodSecurityContext            *corev1.PodSecurityContext
	TerminationGracePeriodSeconds *int64
	PodLabels                     map[string]string
	PodAnnotations                map[string]string
	RollingUpdate                 RollingUpdateSpec
}

// FailoverMode says who decides which node is primary.
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
	Mode     FailoverMode
	Sentinel *SentinelFailoverSpec
	Operator *OperatorFailoverSpec
}

// SentinelFailoverSpec is how the Sentinels monitor a Valkey.
type SentinelFailoverSpec struct {
	MonitorName string
	Quorum      *int32
	Config      map[string]string
}

// OperatorFailoverSpec tunes failover by the controller.
type OperatorFailoverSpec struct {
	DownAfter *metav1.Duration
}

// WorkloadType is what runs the pods.
type WorkloadType string

const (
	// WorkloadTypeStatefulSet runs each node as a StatefulSet of one pod with a stable name.
	WorkloadTypeStatefulSet WorkloadType = "StatefulSet"
	// WorkloadTypeDeployment runs the node as a Deployment of one pod: a cache without identity.
	WorkloadTypeDeployment WorkloadType = "Deployment"
)

// PersistentVolumeReclaim says what happens to a node's volume claim when the node goes.
type PersistentVolumeReclaim string

const (
	// ReclaimRetain keeps the claim; a later node of the same name takes it up again.
	ReclaimRetain PersistentVolumeReclaim = "Retain"
	// ReclaimDelete deletes the claim, and with it the data, when the node is deleted.
	ReclaimDelete PersistentVolumeReclaim = "Delete"
)

// PersistenceMode says what is written to the volume.
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
type PersistenceSpec struct {
	Capacity         resource.Quantity
	StorageClassName *string
	ReclaimPolicy    PersistentVolumeReclaim
	Mode             PersistenceMode
}

// UserSpec is an ACL user.
type UserSpec struct {
	Name           string
	Enabled        *bool
	PasswordSecret *PasswordSecretRef
	NoPass         bool
	ResetPass      bool
	Commands       *UserCommands
	Keys           *UserKeys
	Channels       *UserChannels
	Permissions    string
}

// PasswordSecretRef names a Secret of this namespace and the keys in it that hold passwords.
type PasswordSecretRef struct {
	Name string
	Keys []string
}

// UserCommands are the commands and categories ("@read") of a user.
type UserCommands struct {
	Allow []string
	Deny  []string
}

// UserKeys are key patterns of a user.
type UserKeys struct {
	ReadWrite []string
	ReadOnly  []string
	WriteOnly []string
}

// UserChannels are pub/sub channel patterns of a user.
type UserChannels struct {
	Patterns []string
}

// RollingUpdateSpec bounds a roll.
type RollingUpdateSpec struct {
	SyncTimeout *metav1.Duration
}
