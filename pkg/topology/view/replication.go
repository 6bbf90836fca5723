// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package view

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/valkeykube/valkeykube/pkg/apis/valkey/v1alpha1"
	"github.com/valkeykube/valkeykube/pkg/topology"
)

// Replication is the live answer about one Valkey: each member as it describes itself, and, where monitor is not empty, each Sentinel's
// view of that monitor. primary is the node that is primary, empty where none is agreed on.
func Replication(snapshot topology.Snapshot, primary, monitor string) *v1alpha1.Replication {
	answer := &v1alpha1.Replication{
		ObservedAt: metav1.NewMicroTime(snapshot.Now),
		Primary:    primary,
		Members:    make([]v1alpha1.ReplicationMember, 0, len(snapshot.Members)),
	}
	leader, _ := snapshot.Member(primary)
	for _, m := range snapshot.Members {
		answer.Members = append(answer.Members, replicationMember(m, leader))
	}
	if monitor != "" {
		answer.Monitors = MonitorViews(snapshot, monitor)
	}
	return answer
}

func replicationMember(m, leader topology.Member) v1alpha1.ReplicationMember {
	answer := v1alpha1.ReplicationMember{Node: m.Name, Address: m.Address.String(), Role: Role(m)}
	if !m.Reach.OK() {
		answer.Error = reachError(m.Reach)
	}
	if !m.Answered() {
		return answer
	}
	answer.ReplicationID, answer.Offset, answer.Keys = m.ReplID, m.Offset, m.Keys
	answer.Synced = Synced(m, leader)
	if m.Role == topology.RoleReplica {
		answer.ReplicaOf, answer.LinkUp, answer.SyncInProgress = m.Primary.String(), m.LinkUp, m.Syncing
		answer.LagBytes = lag(m, leader)
	}
	return answer
}

// lag is how many bytes of the leader's history the member has not processed; 0 where the two do not share a history.
func lag(m, leader topology.Member) int64 {
	if leader.Name == "" || !leader.Reach.OK() || m.ReplID != leader.ReplID {
		return 0
	}
	return max(0, leader.Offset-m.Offset)
}

// reachError is the class of a failed look and what else is known of it.
func reachError(reach topology.Reach) string {
	if reach.Text == "" {
		return string(reach.Class)
	}
	return string(reach.Class) + ": " + reach.Text
}
