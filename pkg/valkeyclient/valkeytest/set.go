// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package valkeytest

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/valkeykube/valkeykube/pkg/valkeyclient"
)

func isConnectionFailure(err error) bool {
	return errors.Is(err, valkeyclient.ErrUnreachable) || errors.Is(err, valkeyclient.ErrTimeout) ||
		errors.Is(err, valkeyclient.ErrLoading)
}

// SetOptions configures a Set.
type SetOptions struct {
	Binary Binary
	// Replicas besides the primary, and Sentinels.
	Replicas, Sentinels int
	// Monitor is the monitor's name; default "main". Quorum default is a majority.
	Monitor string
	Quorum  int
	// NodeConfig and NodeACL are for every data server; SentinelConfig and SentinelACL for every Sentinel.
	NodeConfig, NodeACL, SentinelConfig, SentinelACL []string
	// NodeUser and SentinelUser is what the test logs in with.
	NodeUser, SentinelUser valkeyclient.Credentials
	// MonitorSettings are set on every Sentinel, after down-after-milliseconds 1000.
	MonitorSettings []valkeyclient.Setting
	// Hurry shortens the Sentinels' periods, so that they notice within a second what takes them ten otherwise.
	Hurry bool
}

// Set is a primary with replicas, and the Sentinels that monitor it.
type Set struct {
	Monitor   string
	Nodes     []*Process // Nodes[0] starts as the primary
	Sentinels []*Process
}

// StartSet starts a Set and waits until it is whole: every replica linked, every Sentinel knowing them all,
// and each other.
func StartSet(t testing.TB, options SetOptions) *Set {
	t.Helper()
	if options.Monitor == "" {
		options.Monitor = "main"
	}
	if options.Quorum == 0 {
		options.Quorum = options.Sentinels/2 + 1
	}
	set := &Set{Monitor: options.Monitor}
	for i := range options.Replicas + 1 {
		config := options.NodeConfig
		if i > 0 {
			primary := set.Nodes[0].Address
			config = append([]string{fmt.Sprintf("replicaof %s %d", primary.Host, primary.Port)}, config...)
		}
		set.Nodes = append(set.Nodes, StartServer(t, Options{
			Binary: options.Binary, Name: fmt.Sprintf("node-%d", i), Config: config, ACL: options.NodeACL, Credentials: options.NodeUser,
		}))
	}
	set.AwaitReplicas(t)
	for i := range options.Sentinels {
		sentinel := StartSentinel(t, Options{
			Binary: options.Binary, Name: fmt.Sprintf("sentinel-%d", i), Config: options.SentinelConfig,
			ACL: options.SentinelACL, Credentials: options.SentinelUser,
		})
		set.Sentinels = append(set.Sentinels, sentinel)
		set.register(t, sentinel, options)
	}
	set.AwaitSentinels(t)
	set.AwaitReplicas(t) // by now something was written, and it can be told who gets it
	return set
}

func (s *Set) register(t testing.TB, sentinel *Process, options SetOptions) {
	t.Helper()
	registration := valkeyclient.Registration{Name: s.Monitor, Primary: s.Nodes[0].Address, Quorum: options.Quorum}
	if err := sentinel.Sentinel().Register(t.Context(), registration); err != nil {
		t.Fatal(err)
	}
	// Sentinels that notice at the same moment may each vote for themselves, and try again after twice the failover-timeout: six minutes by default.
	settings := append([]valkeyclient.Setting{
		{Key: "down-after-milliseconds", Value: "1000"}, {Key: "failover-timeout", Value: "10000"},
	}, options.MonitorSettings...)
	if err := sentinel.Sentinel().Set(t.Context(), s.Monitor, settings...); err != nil {
		t.Fatal(err)
	}
	// With the default of a second, a new primary is sometimes held for down right after the switch.
	periods := []valkeyclient.Setting{{Key: "ping-period", Value: "200"}}
	if options.Hurry {
		periods = append(periods, valkeyclient.Setting{Key: "info-period", Value: "1000"}, valkeyclient.Setting{Key: "publish-period", Value: "500"})
	}
	if err := sentinel.Sentinel().Debug(t.Context(), periods...); err != nil {
		t.Fatal(err)
	}
}

// AwaitReplicas waits until one node is primary and all others are linked to it and get everything that it writes.
func (s *Set) AwaitReplicas(t testing.TB) {
	t.Helper()
	Eventually(t, "replicas linked", func(ctx context.Context) error {
		primaries, online := 0, 0
		for _, node := range s.Nodes {
			replication, err := node.Node().Replication(ctx)
			switch {
			case err != nil:
				return err
			case replication.Role == valkeyclient.RolePrimary:
				primaries++
				for _, replica := range replication.Replicas {
					if replica.Gets(replication.Offset) {
						online++
					}
				}
			case !replication.LinkUp:
				return fmt.Errorf("%s: link to %s is down", node.Name, replication.Primary)
			}
		}
		if primaries != 1 || online != len(s.Nodes)-1 {
			return fmt.Errorf("%d primaries, %d replicas online", primaries, online)
		}
		return nil
	})
}

// AwaitSentinels waits until every Sentinel knows all replicas and all other Sentinels as alive.
func (s *Set) AwaitSentinels(t testing.TB) {
	t.Helper()
	Eventually(t, "Sentinels agree", func(ctx context.Context) error {
		for _, sentinel := range s.Sentinels {
			monitor, err := sentinel.Sentinel().MonitorByName(ctx, s.Monitor)
			if err != nil {
				return err
			}
			replicas, peers := len(s.Nodes)-1, len(s.Sentinels)-1
			if monitor.NumReplicas != replicas || monitor.NumOtherSentinels != peers || len(monitor.Flags) != 1 {
				return fmt.Errorf("%s: %d replicas, %d peers, flags %v", sentinel.Name, monitor.NumReplicas, monitor.NumOtherSentinels, monitor.Flags)
			}
			if err := s.allUsable(ctx, sentinel); err != nil {
				return err
			}
		}
		return nil
	})
}

func (s *Set) allUsable(ctx context.Context, sentinel *Process) error {
	check, err := sentinel.Sentinel().CheckQuorum(ctx, s.Monitor)
	if err != nil {
		return err
	}
	if !check.OK || check.Usable != len(s.Sentinels) {
		return fmt.Errorf("%s: %s", sentinel.Name, check.Message)
	}
	replicas, err := sentinel.Sentinel().Replicas(ctx, s.Monitor)
	if err != nil {
		return err
	}
	for _, replica := range replicas {
		if len(replica.Flags) != 1 || !replica.LinkUp {
			return fmt.Errorf("%s: replica %s: flags %v, link up %t", sentinel.Name, replica.Address, replica.Flags, replica.LinkUp)
		}
	}
	return nil
}

// Node finds the node at an address.
func (s *Set) Node(t testing.TB, address valkeyclient.Address) *Process {
	t.Helper()
	for _, node := range s.Nodes {
		if node.Address == address {
			return node
		}
	}
	t.Fatalf("no node at %s", address)
	return nil
}
