// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package view

import (
	"github.com/valkeykube/valkeykube/pkg/apis/valkey/v1alpha1"
	"github.com/valkeykube/valkeykube/pkg/topology"
)

// Members are the members as a status shows them, in the snapshot's order. primary is the node that is primary, empty where none is
// agreed on; pods are the names of the nodes' pods. Nothing in the result moves while nothing happens.
func Members(snapshot topology.Snapshot, primary string, pods map[string]string) []v1alpha1.MemberStatus {
	leader, _ := snapshot.Member(primary)
	statuses := make([]v1alpha1.MemberStatus, 0, len(snapshot.Members))
	for _, m := range snapshot.Members {
		status := v1alpha1.MemberStatus{
			Node:   m.Name,
			Pod:    pods[m.Name],
			Role:   Role(m),
			LinkUp: m.Answered() && m.Role == topology.RoleReplica && m.LinkUp,
			Reason: MemberReason(m, leader),
		}
		status.Synced = Synced(m, leader)
		statuses = append(statuses, status)
	}
	return statuses
}

// Role is the part the member says it plays, unknown where it did not answer.
func Role(m topology.Member) v1alpha1.Role {
	switch {
	case !m.Answered():
		return v1alpha1.RoleUnknown
	case m.Role == topology.RolePrimary:
		return v1alpha1.RolePrimary
	case m.Role == topology.RoleReplica:
		return v1alpha1.RoleReplica
	default:
		return v1alpha1.RoleUnknown
	}
}

// Synced tells whether the member holds the primary's data: it is the primary, or a replica of it with its link up and its copy
// complete. Where leader is the zero Member nobody is.
func Synced(m, leader topology.Member) bool {
	switch {
	case leader.Name == "" || !m.Reach.OK():
		return false
	case m.Name == leader.Name:
		return m.Role == topology.RolePrimary
	default:
		return m.Role == topology.RoleReplica && m.LinkUp && !m.Syncing && !m.Loading && leader.Is(m.Primary)
	}
}

// MemberReason is one word for what is wrong with the member, and empty where nothing is.
func MemberReason(m, leader topology.Member) string {
	switch {
	case m.Reach.Class == topology.ReachUnknown:
		return v1alpha1.ReasonNotYetObserved
	case m.Reach.Class == topology.ReachLoading:
		return v1alpha1.ReasonLoading
	case m.Reach.Class == topology.ReachAuth, m.Reach.Class == topology.ReachPermission:
		return v1alpha1.ReasonAuthFailed
	case m.Reach.Class == topology.ReachFull:
		return v1alpha1.ReasonTooManyClients
	case !m.Reach.OK():
		return v1alpha1.ReasonMemberUnreachable
	case m.Loading:
		return v1alpha1.ReasonLoading
	case DiskFailed(m):
		return v1alpha1.ReasonDiskWriteFailed
	case m.Role == topology.RolePrimary && leader.Name != "" && m.Name != leader.Name:
		return v1alpha1.ReasonSeveralPrimaries
	case m.Role == topology.RolePrimary && m.WantsReplicas:
		return v1alpha1.ReasonWritesRefused
	}
	if m.Role == topology.RoleReplica {
		if reason := replicaReason(m, leader); reason != "" {
			return reason
		}
	}
	if m.Full {
		return v1alpha1.ReasonTooManyClients
	}
	return ""
}

func replicaReason(m, leader topology.Member) string {
	switch {
	case leader.Name != "" && m.Name == leader.Name:
		return v1alpha1.ReasonSentinelDiffers
	case leader.Name != "" && !leader.Is(m.Primary):
		return v1alpha1.ReasonWrongPrimary
	case m.Syncing:
		return v1alpha1.ReasonSyncing
	case !m.LinkUp:
		return v1alpha1.ReasonLinkDown
	}
	return ""
}

// DiskFailed tells whether the member says that its last write to the volume failed.
func DiskFailed(m topology.Member) bool {
	return m.Reach.OK() && (m.Persistence.AOFEnabled && !m.Persistence.AOFLastWriteOK || !m.Persistence.RDBLastSaveOK)
}
