// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package valkeyclient_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/valkeykube/valkeykube/pkg/valkeyclient"
	"github.com/valkeykube/valkeykube/pkg/valkeyclient/valkeytest"
)

func TestNodeReadsAndSettings(t *testing.T) {
	valkeytest.Each(t, func(t *testing.T, binary valkeytest.Binary) {
		ctx := t.Context()
		server := valkeytest.StartServer(t, valkeytest.Options{Binary: binary, Config: []string{"maxmemory 64mb"}})
		node := server.Node()

		if err := node.Ping(ctx); err != nil {
			t.Fatal(err)
		}
		role, err := node.Role(ctx)
		if err != nil || role.Role != valkeyclient.RolePrimary || len(role.Replicas) != 0 {
			t.Fatalf("Role: %+v, %v", role, err)
		}
		status, err := node.Status(ctx)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.HasPrefix(status.Version, binary.Version) || len(status.RunID) != 40 || status.Keys != 0 ||
			status.Replication.Role != valkeyclient.RolePrimary || status.Replication.FailoverState != "no-failover" ||
			len(status.Replication.ReplID) != 40 || status.Memory.Max != 64<<20 || status.Memory.Used == 0 ||
			!status.Persistence.RDBLastSaveOK || status.Persistence.AOFEnabled {
			t.Errorf("Status: %+v", status)
		}
		if err := node.ConfigSet(ctx, valkeyclient.Setting{Key: "maxmemory", Value: "32mb"}, valkeyclient.Setting{Key: "hz", Value: "20"}); err != nil {
			t.Fatal(err)
		}
		config, err := node.ConfigGet(ctx, "maxmemory", "hz")
		if err != nil || config["maxmemory"] != "33554432" || config["hz"] != "20" {
			t.Errorf("ConfigGet: %v, %v", config, err)
		}
		if err := node.ConfigRewrite(ctx); err != nil {
			t.Errorf("ConfigRewrite: %v", err)
		}
		if size, err := node.DBSize(ctx); err != nil || size != 0 {
			t.Errorf("DBSize: %d, %v", size, err)
		}
		if who, err := node.ACLWhoAmI(ctx); err != nil || who != "default" {
			t.Errorf("ACLWhoAmI: %q, %v", who, err)
		}
		if clients, err := node.ClientList(ctx); err != nil || len(clients) == 0 || clients[0].User != "default" || clients[0].Idle < 0 {
			t.Errorf("ClientList: %+v, %v", clients, err)
		}
		if users, err := node.ACLList(ctx); err != nil || len(users) != 1 || !strings.HasPrefix(users[0], "user default on") {
			t.Errorf("ACLList: %q, %v", users, err)
		}
		if err := node.ConfigSet(ctx, valkeyclient.Setting{Key: "databases", Value: "4"}); !errors.Is(err, valkeyclient.ErrInvalid) {
			t.Errorf("ConfigSet of a fixed key: %v", err)
		}
		if err := node.ConfigSet(ctx); !errors.Is(err, valkeyclient.ErrInvalid) {
			t.Errorf("ConfigSet of nothing: %v", err)
		}
		if err := node.ACLLoad(ctx); !errors.Is(err, valkeyclient.ErrInvalid) {
			t.Errorf("ACLLoad without a file: %v", err)
		}
	})
}

func TestNodeReplication(t *testing.T) {
	valkeytest.Each(t, func(t *testing.T, binary valkeytest.Binary) {
		ctx := t.Context()
		set := valkeytest.StartSet(t, valkeytest.SetOptions{Binary: binary, Replicas: 1})
		primary, replica := set.Nodes[0], set.Nodes[1]
		write(t, primary, "a", "1")

		valkeytest.Eventually(t, "the replica has the key", func(ctx context.Context) error {
			if size, err := replica.Node().DBSize(ctx); err != nil || size != 1 {
				return fmt.Errorf("%d keys, %w", size, err)
			}
			return nil
		})
		role, err := replica.Node().Role(ctx)
		if err != nil || role.Role != valkeyclient.RoleReplica || role.Primary != primary.Address || role.Link != "connected" || role.Offset <= 0 {
			t.Errorf("Role of the replica: %+v, %v", role, err)
		}
		seen, err := replica.Node().Status(ctx)
		if err != nil || !seen.Replication.LinkUp || seen.Replication.Primary != primary.Address || seen.Keys != 1 ||
			seen.Replication.SyncInProgress || !seen.Replication.ReadOnly || seen.Replication.Priority != 100 {
			t.Errorf("Status of the replica: %+v, %v", seen, err)
		}
		ours, err := primary.Node().Replication(ctx)
		if err != nil || len(ours.Replicas) != 1 || ours.Replicas[0].Address != replica.Address || ours.Replicas[0].State != "online" ||
			ours.ReplID != seen.Replication.ReplID {
			t.Errorf("Replication of the primary: %+v, %v", ours, err)
		}
		if role, err := primary.Node().Role(ctx); err != nil || len(role.Replicas) != 1 || role.Replicas[0].Address != replica.Address {
			t.Errorf("Role of the primary: %+v, %v", role, err)
		}

		if err := replica.Node().Failover(ctx, valkeyclient.FailoverRequest{}); !errors.Is(err, valkeyclient.ErrReadOnly) {
			t.Errorf("Failover on a replica: %v", err)
		}
		stranger := valkeyclient.Address{Host: "127.0.0.1", Port: 1}
		if err := primary.Node().Failover(ctx, valkeyclient.FailoverRequest{To: stranger}); !errors.Is(err, valkeyclient.ErrNoGoodReplica) {
			t.Errorf("Failover to a stranger: %v", err)
		}
		if err := primary.Node().FailoverAbort(ctx); err != nil {
			t.Errorf("FailoverAbort of nothing: %v", err)
		}
		if err := primary.Node().Failover(ctx, valkeyclient.FailoverRequest{To: replica.Address, Timeout: 10 * time.Second}); err != nil {
			t.Fatal(err)
		}
		awaitRole(t, replica, valkeyclient.RolePrimary)
		awaitRole(t, primary, valkeyclient.RoleReplica)

		if err := primary.Node().ReplicaOfNoOne(ctx); err != nil {
			t.Fatal(err)
		}
		awaitRole(t, primary, valkeyclient.RolePrimary)
		if err := primary.Node().ReplicaOf(ctx, replica.Address); err != nil {
			t.Fatal(err)
		}
		set.AwaitReplicas(t)
		if err := primary.Node().ReplicaOf(ctx, valkeyclient.Address{}); !errors.Is(err, valkeyclient.ErrInvalid) {
			t.Errorf("ReplicaOf nothing: %v", err)
		}
	})
}

func TestNodePauseAndKill(t *testing.T) {
	valkeytest.Each(t, func(t *testing.T, binary valkeytest.Binary) {
		ctx := t.Context()
		server := valkeytest.StartServer(t, valkeytest.Options{Binary: binary})
		node := server.Node()

		if err := node.ClientPause(ctx, valkeyclient.PauseWrite, 30*time.Second); err != nil {
			t.Fatal(err)
		}
		if _, err := node.Status(ctx); err != nil {
			t.Errorf("reads under a write pause: %v", err)
		}
		done := make(chan string, 1)
		go func() { done <- inline(t, server, "SET a 1") }()
		select {
		case answer := <-done:
			t.Errorf("a write under a write pause was answered %q", answer)
		case <-time.After(300 * time.Millisecond):
		}
		if err := node.ClientUnpause(ctx); err != nil {
			t.Fatal(err)
		}
		if answer := <-done; answer != "+OK" {
			t.Errorf("the held write was answered %q", answer)
		}

		victim, err := net.Dial("tcp", server.Address.String())
		if err != nil {
			t.Fatal(err)
		}
		defer victim.Close()
		if _, err := victim.Write([]byte("PING\r\n")); err != nil {
			t.Fatal(err)
		}
		if _, err := victim.Read(make([]byte, 16)); err != nil {
			t.Fatal(err)
		}
		killed, err := node.ClientKill(ctx, valkeyclient.ClientNormal, valkeyclient.ClientPubSub)
		if err != nil || killed != 1 {
			t.Errorf("ClientKill: %d, %v", killed, err)
		}
		if _, err := victim.Read(make([]byte, 16)); err == nil {
			t.Error("the victim lives")
		}
		if err := node.Ping(ctx); err != nil {
			t.Errorf("the killer was killed: %v", err)
		}
	})
}

func TestNodeShutdown(t *testing.T) {
	valkeytest.Each(t, func(t *testing.T, binary valkeytest.Binary) {
		server := valkeytest.StartServer(t, valkeytest.Options{Binary: binary})
		if err := server.Node().Shutdown(t.Context(), valkeyclient.ShutdownOptions{NoSave: true, Now: true, Force: true}); err != nil {
			t.Fatal(err)
		}
		select {
		case <-server.Exited():
		case <-time.After(valkeytest.Patience):
			t.Fatal("the server still runs")
		}
		if err := server.Node().Ping(t.Context()); !errors.Is(err, valkeyclient.ErrUnreachable) {
			t.Errorf("Ping of nobody: %v", err)
		}
	})
}
