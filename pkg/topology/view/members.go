// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package view

import (
	"strings"

	"github.com/valkeykube/valkeykube/pkg/apis/valkey/v1alpha1"
	"github.com/valkeykube/valkeykube/pkg/topology"
)

// Members are the members as a status shows them, in the snapshot's order. primary is the node that is primary, empty where none is
// agreed on; pods are the names of the nodes' pods. Nothing in the result moves while nothing happens.
func Members(snapshot topology.Snapshot, primary string, pods map[string]string) []v1alpha1.MemberStatus {
	leader, _ := member(snapshot, primary)
	statuses := make([]v1alpha1.MemberStatus, 0, len(snapshot.Members))
	for _, m := range snapshot.Members {
		status := v1alpha1.MemberStatus{
			Node:   m.Name,
			Pod:    pods[m.Name],
			Role:   Role(m),
			LinkUp: Known(m) && m.Role == topology.RoleReplica && m.LinkUp,
			Reason: MemberReason(m, leader),
		}
		status.Synced = Synced(m, leader)
		statuses = append(statuses, status)
	}
	return statuses
}

// Known tells whether the member said what it is: it answered, if only to say that it is loading.
func Known(m topology.Member) bool {
	return m.Reach.OK() || m.Reach.Class == topology.ReachLoading
}

// Role is the part the member says it plays, unknown where it did not answer.
func Role(m topology.Member) v1alpha1.Role {
	switch {
	case !Known(m):
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
		return m.Role == topology.RoleReplica && m.LinkUp && !m.Syncing && !m.Loading && Is(m.Primary, leader)
	}
}

// Is tells whether the address is one of the member's.
func Is(address topology.Address, m topology.Member) bool {
	if address.IsZero() || address.Port != m.Address.Port {
		return false
	}
	if sameHost(address.Host, m.Address.Host) {
		return true
	}
	for _, alias := range m.Aliases {
		if sameHost(address.Host, alias) {
			return true
		}
	}
	return false
}

func sameHost(a, b string) bool {
	return a != "" && strings.EqualFold(strings.TrimSuffix(a, "."), strings.TrimSuffix(b, "."))
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
	case !m.Reach.OK():
		return v1alpha1.ReasonMemberUnreachable
	case m.Loading:
		return v1alpha1.ReasonLoading
	case DiskFailed(m):
		return v1alpha1.ReasonDiskWriteFailed
	case m.Role == topology.RolePrimary && leader.Name != "" && m.Name != leader.Name:
		return v1alpha1.ReasonSeveralPrimaries
	case m.Role == topology.RoleReplica:
		return replicaReason(m, leader)
	}
	return ""
}

func replicaReason(m, leader topology.Member) string {
	switch {
	case leader.Name != "" && m.Name == leader.Name:
		return v1alpha1.ReasonSentinelDiffers
	case leader.Name != "" && !Is(m.Primary, leader):
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

func member(snapshot topology.Snapshot, name string) (topology.Member, bool) {
	for _, m := range snapshot.Members {
		if name != "" && m.Name == name {
			return m, true
		}
	}
	return topology.Member{}, false
}
