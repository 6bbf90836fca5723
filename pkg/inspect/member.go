// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package inspect

import (
	"context"

	"github.com/valkeykube/valkeykube/pkg/topology"
	"github.com/valkeykube/valkeykube/pkg/valkeyclient"
)

func (i Inspector) member(ctx context.Context, member Member) topology.Member {
	m := topology.Member{Name: member.Target.Name, Address: addressOf(member.Target), Aliases: member.Aliases}
	node, err := i.Clients.Node(member.Target)
	if err != nil {
		m.Reach = i.reach(err)
		return m
	}
	status, err := node.Status(ctx)
	m.Reach = i.reach(err)
	if err != nil {
		return m
	}
	if status.Loading {
		m.Reach.Class, m.Reach.Text = topology.ReachLoading, "loading the dataset"
	}
	fill(&m, status)
	return m
}

func fill(m *topology.Member, status valkeyclient.Status) {
	replication := status.Replication
	m.Role = topology.Role(replication.Role)
	m.Primary = address(replication.Primary)
	m.LinkUp, m.Syncing = replication.LinkUp, replication.SyncInProgress
	m.LinkDownFor, m.LastIO = replication.LinkDownFor, replication.LastIO
	m.Offset, m.Priority = replication.Offset, replication.Priority
	m.ReplID, m.ReplID2, m.SecondOffset = replication.ReplID, replication.ReplID2, replication.SecondOffset
	m.FailoverState = replication.FailoverState
	for _, replica := range replication.Replicas {
		m.Connected = append(m.Connected, topology.ConnectedReplica{
			Address: address(replica.Address), Online: replica.Gets(replication.Offset), Offset: replica.Offset, Lag: replica.Lag,
		})
	}
	m.Keys, m.Loading = status.Keys, status.Loading
	m.Version, m.RunID, m.Uptime = status.Version, status.RunID, status.Uptime
	m.Listeners = topology.Listeners(status.Listeners)
	m.Full = status.MaxClients > 0 && status.Clients >= status.MaxClients
	m.WantsReplicas = replication.WantsReplicas && replication.GoodReplicas == 0
	m.Persistence = topology.Persistence{
		AOFEnabled:       status.Persistence.AOFEnabled,
		AOFRewriting:     status.Persistence.AOFRewriting,
		AOFLastWriteOK:   status.Persistence.AOFLastWriteOK,
		RDBLastSaveOK:    status.Persistence.RDBLastSaveOK,
		ChangesSinceSave: status.Persistence.ChangesSinceSave,
	}
	m.Memory = topology.Memory(status.Memory)
}

func address(a valkeyclient.Address) topology.Address { return topology.Address(a) }

// addressOf is the zero Address for a malformed target, which Clients will refuse with the reason.
func addressOf(target valkeyclient.Target) topology.Address {
	parsed, _ := valkeyclient.ParseAddress(target.Address)
	return address(parsed)
}
