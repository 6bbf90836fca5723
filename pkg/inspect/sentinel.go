// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package inspect

import (
	"context"
	"errors"

	"github.com/valkeykube/valkeykube/pkg/topology"
	"github.com/valkeykube/valkeykube/pkg/valkeyclient"
)

func (i Inspector) sentinel(ctx context.Context, target valkeyclient.Target, subject Subject) topology.SentinelView {
	view := topology.SentinelView{Name: target.Name, Address: addressOf(target)}
	client, err := i.Clients.Sentinel(target)
	if err == nil {
		err = fillSentinel(ctx, &view, client, subject)
	}
	view.Reach = i.reach(err)
	if err != nil {
		view.Monitors = nil // half a view is none
	}
	return view
}

func fillSentinel(ctx context.Context, view *topology.SentinelView, client valkeyclient.Sentinel, subject Subject) error {
	var err error
	if view.MyID, err = client.MyID(ctx); err != nil {
		return err
	}
	monitors, err := monitorsOf(ctx, client, subject.Monitor)
	if err != nil {
		return err
	}
	view.Monitors = make(map[string]topology.MonitorView, len(monitors))
	for _, monitor := range monitors {
		monitorView, err := monitorView(ctx, client, monitor, subject.Peers)
		if errors.Is(err, valkeyclient.ErrNoSuchMonitor) { // removed meanwhile
			continue
		}
		if err != nil {
			return err
		}
		view.Monitors[monitor.Name] = monitorView
	}
	return nil
}

func monitorsOf(ctx context.Context, client valkeyclient.Sentinel, name string) ([]valkeyclient.Monitor, error) {
	if name == "" {
		return client.Monitors(ctx)
	}
	monitor, err := client.MonitorByName(ctx, name)
	if errors.Is(err, valkeyclient.ErrNoSuchMonitor) {
		return nil, nil
	}
	return []valkeyclient.Monitor{monitor}, err
}

// settings are the fields of SENTINEL MASTER that can be set for a monitor.
var settings = []string{"down-after-milliseconds", "failover-timeout", "parallel-syncs", "master-reboot-down-after-period"}

// stateReconfigure is the stage of a failover in which the replicas are pointed at the promoted one. SENTINEL MASTER of the leader still
// names the old primary then, with the new config-epoch; to clients it names the new one (sentinelGetCurrentPrimaryAddress in sentinel.c).
const stateReconfigure = "reconf_slaves"

func monitorView(ctx context.Context, client valkeyclient.Sentinel, monitor valkeyclient.Monitor, peers bool) (topology.MonitorView, error) {
	view := topology.MonitorView{
		Primary: address(monitor.Primary), ConfigEpoch: monitor.ConfigEpoch, Quorum: monitor.Quorum,
		SubjectDown:        monitor.Flags.Has("s_down"),
		ObjectDown:         monitor.Flags.Has("o_down"),
		Disconnected:       monitor.Flags.Has("disconnected"),
		FailoverInProgress: monitor.Flags.Has("failover_in_progress"),
		FailoverState:      monitor.FailoverState,
		NumReplicas:        monitor.NumReplicas, NumOtherSentinels: monitor.NumOtherSentinels,
		ReportedRole: topology.Role(monitor.RoleReported), Flags: monitor.Flags,
		Settings: map[string]string{},
	}
	for _, name := range settings {
		if value, set := monitor.Fields[name]; set {
			view.Settings[name] = value
		}
	}
	if monitor.FailoverState == stateReconfigure {
		promoted, err := client.PrimaryAddr(ctx, monitor.Name)
		if err != nil {
			return view, err
		}
		view.Primary = address(promoted)
	}
	check, err := client.CheckQuorum(ctx, monitor.Name)
	if err != nil {
		return view, err
	}
	view.QuorumOK, view.QuorumUsable, view.QuorumMessage = check.OK, check.Usable, check.Message
	if !peers {
		return view, nil
	}
	err = fillPeers(ctx, &view, client, monitor.Name)
	return view, err
}

func fillPeers(ctx context.Context, view *topology.MonitorView, client valkeyclient.Sentinel, name string) error {
	replicas, err := client.Replicas(ctx, name)
	if err != nil {
		return err
	}
	sentinels, err := client.Sentinels(ctx, name)
	if err != nil {
		return err
	}
	view.Replicas = make([]topology.ReplicaView, 0, len(replicas))
	for _, replica := range replicas {
		view.Replicas = append(view.Replicas, topology.ReplicaView{
			Address: address(replica.Address), Primary: address(replica.Primary), LinkUp: replica.LinkUp,
			SubjectDown: replica.Flags.Has("s_down"), Priority: replica.Priority, Offset: replica.Offset,
			InfoRefresh: replica.InfoRefresh, Flags: replica.Flags,
		})
	}
	view.Peers = make([]topology.PeerView, 0, len(sentinels))
	for _, peer := range sentinels {
		view.Peers = append(view.Peers, topology.PeerView{
			ID: peer.ID, Address: address(peer.Address), SubjectDown: peer.Flags.Has("s_down"),
		})
	}
	return nil
}
