// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package valkeyclient_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/valkeykube/valkeykube/pkg/valkeyclient"
	"github.com/valkeykube/valkeykube/pkg/valkeyclient/valkeytest"
)

func TestSentinelRegistration(t *testing.T) {
	valkeytest.Each(t, func(t *testing.T, binary valkeytest.Binary) {
		ctx := t.Context()
		server := valkeytest.StartServer(t, valkeytest.Options{Binary: binary})
		process := valkeytest.StartSentinel(t, valkeytest.Options{Binary: binary})
		sentinel := process.Sentinel()

		if id, err := sentinel.MyID(ctx); err != nil || len(id) != 40 {
			t.Errorf("MyID: %q, %v", id, err)
		}
		if monitors, err := sentinel.Monitors(ctx); err != nil || len(monitors) != 0 {
			t.Errorf("Monitors of a new Sentinel: %v, %v", monitors, err)
		}
		for what, err := range map[string]error{
			"MonitorByName": second(sentinel.MonitorByName(ctx, "a")),
			"Replicas":      second(sentinel.Replicas(ctx, "a")),
			"Sentinels":     second(sentinel.Sentinels(ctx, "a")),
			"PrimaryAddr":   second(sentinel.PrimaryAddr(ctx, "a")),
			"CheckQuorum":   second(sentinel.CheckQuorum(ctx, "a")),
			"Remove":        sentinel.Remove(ctx, "a"),
			"Failover":      sentinel.Failover(ctx, "a"),
			"Set":           sentinel.Set(ctx, "a", valkeyclient.Setting{Key: "quorum", Value: "1"}),
		} {
			if !errors.Is(err, valkeyclient.ErrNoSuchMonitor) {
				t.Errorf("%s of an unknown monitor: %v", what, err)
			}
		}

		registration := valkeyclient.Registration{Name: "a", Primary: server.Address, Quorum: 2}
		if err := sentinel.Register(ctx, registration); err != nil {
			t.Fatal(err)
		}
		if err := sentinel.Register(ctx, registration); !errors.Is(err, valkeyclient.ErrDuplicateMonitor) {
			t.Errorf("Register twice: %v", err)
		}
		err := sentinel.Set(ctx, "a", valkeyclient.Setting{Key: "down-after-milliseconds", Value: "1234"},
			valkeyclient.Setting{Key: "failover-timeout", Value: "20000"}, valkeyclient.Setting{Key: "auth-pass", Value: "geheim"})
		if err != nil {
			t.Fatal(err)
		}
		monitor, err := sentinel.MonitorByName(ctx, "a")
		if err != nil || monitor.Primary != server.Address || monitor.Quorum != 2 || monitor.DownAfter != 1234*time.Millisecond ||
			monitor.FailoverTimeout != 20*time.Second || monitor.ParallelSyncs != 1 || !monitor.Flags.Has("master") ||
			monitor.ConfigEpoch != 0 || monitor.FailoverState != "" {
			t.Errorf("MonitorByName: %+v, %v", monitor, err)
		}
		if address, err := sentinel.PrimaryAddr(ctx, "a"); err != nil || address != server.Address {
			t.Errorf("PrimaryAddr: %v, %v", address, err)
		}
		if check, err := sentinel.CheckQuorum(ctx, "a"); err != nil || check.OK || check.Usable != 1 || check.Message == "" {
			t.Errorf("CheckQuorum of a lonely Sentinel: %+v, %v", check, err)
		}
		valkeytest.Eventually(t, "no one to promote", func(ctx context.Context) error {
			if err := sentinel.Failover(ctx, "a"); !errors.Is(err, valkeyclient.ErrNoGoodReplica) {
				return fmt.Errorf("%w", err)
			}
			return nil
		})
		if n, err := sentinel.Reset(ctx, "a"); err != nil || n != 1 {
			t.Errorf("Reset: %d, %v", n, err)
		}
		if err := sentinel.Remove(ctx, "a"); err != nil {
			t.Errorf("Remove: %v", err)
		}
	})
}

func TestSentinelRefusesWhatWouldCorruptItsFile(t *testing.T) {
	ctx := t.Context()
	binary := valkeytest.Default(t)
	server := valkeytest.StartServer(t, valkeytest.Options{Binary: binary})
	process := valkeytest.StartSentinel(t, valkeytest.Options{Binary: binary})
	sentinel := process.Sentinel()
	for _, name := range []string{"", "a b", "a\nb", "ä", `a"`} {
		registration := valkeyclient.Registration{Name: name, Primary: server.Address, Quorum: 2}
		if err := sentinel.Register(ctx, registration); !errors.Is(err, valkeyclient.ErrInvalid) {
			t.Errorf("Register %q: %v", name, err)
		}
	}
	for _, bad := range []valkeyclient.Registration{
		{Name: "a", Quorum: 2},
		{Name: "a", Primary: valkeyclient.Address{Host: "127.0.0.1"}, Quorum: 2},
		{Name: "a", Primary: valkeyclient.Address{Host: "x\ny", Port: 1}, Quorum: 2},
		{Name: "a", Primary: server.Address},
	} {
		if err := sentinel.Register(ctx, bad); !errors.Is(err, valkeyclient.ErrInvalid) {
			t.Errorf("Register %+v: %v", bad, err)
		}
	}
	if err := sentinel.Register(ctx, valkeyclient.Registration{Name: "a", Primary: server.Address, Quorum: 2}); err != nil {
		t.Fatal(err)
	}
	for _, value := range []string{"a b", "a\nb", `a"b`, "a'b", `a\b`, "a\x00b"} {
		if err := sentinel.Set(ctx, "a", valkeyclient.Setting{Key: "auth-pass", Value: value}); !errors.Is(err, valkeyclient.ErrInvalid) {
			t.Errorf("Set auth-pass %q: %v", value, err)
		}
	}
	process.Kill()
	process.Start() // it still can
}

func TestSentinelSeesTheSet(t *testing.T) {
	valkeytest.Each(t, func(t *testing.T, binary valkeytest.Binary) {
		ctx := t.Context()
		set := valkeytest.StartSet(t, valkeytest.SetOptions{Binary: binary, Replicas: 2, Sentinels: 3, Hurry: true})
		sentinel := set.Sentinels[0].Sentinel()

		replicas, err := sentinel.Replicas(ctx, set.Monitor)
		if err != nil || len(replicas) != 2 {
			t.Fatalf("Replicas: %+v, %v", replicas, err)
		}
		for _, replica := range replicas {
			set.Node(t, replica.Address)
			if replica.Primary != set.Nodes[0].Address || !replica.LinkUp || replica.Priority != 100 || len(replica.RunID) != 40 {
				t.Errorf("replica: %+v", replica)
			}
		}
		peers, err := sentinel.Sentinels(ctx, set.Monitor)
		if err != nil || len(peers) != 2 {
			t.Fatalf("Sentinels: %+v, %v", peers, err)
		}
		for _, peer := range peers {
			if len(peer.ID) != 40 || peer.Address.Host != "127.0.0.1" || !peer.Flags.Has("sentinel") {
				t.Errorf("peer: %+v", peer)
			}
		}
		monitors, err := sentinel.Monitors(ctx)
		if err != nil || len(monitors) != 1 || monitors[0].NumReplicas != 2 || monitors[0].NumOtherSentinels != 2 ||
			monitors[0].RoleReported != valkeyclient.RolePrimary {
			t.Errorf("Monitors: %+v, %v", monitors, err)
		}
		if check, err := sentinel.CheckQuorum(ctx, set.Monitor); err != nil || !check.OK || check.Usable != 3 {
			t.Errorf("CheckQuorum: %+v, %v", check, err)
		}
		if info, err := sentinel.Info(ctx, "sentinel"); err != nil || info["sentinel_masters"] != "1" {
			t.Errorf("Info: %v, %v", info, err)
		}
		settings := []valkeyclient.Setting{{Key: "resolve-hostnames", Value: "yes"}, {Key: "announce-hostnames", Value: "yes"}}
		if err := sentinel.ConfigSet(ctx, settings...); err != nil {
			t.Errorf("ConfigSet: %v", err)
		}
		if config, err := sentinel.ConfigGet(ctx, "*hostnames"); err != nil || config["resolve-hostnames"] != "yes" {
			t.Errorf("ConfigGet: %v, %v", config, err)
		}
		if err := sentinel.Debug(ctx, valkeyclient.Setting{Key: "ping-period", Value: "200"}); err != nil {
			t.Errorf("Debug: %v", err)
		}
		if periods, err := sentinel.DebugGet(ctx); err != nil || periods["ping-period"] != "200" || periods["info-period"] != "1000" {
			t.Errorf("DebugGet: %v, %v", periods, err)
		}
	})
}

func TestSentinelPublishesTheSwitch(t *testing.T) {
	valkeytest.Each(t, func(t *testing.T, binary valkeytest.Binary) {
		set := valkeytest.StartSet(t, valkeytest.SetOptions{Binary: binary, Replicas: 1, Sentinels: 3, Hurry: true})
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		events := make(chan valkeyclient.Event, 1000)
		ended := make(chan error, 1)
		go func() {
			ended <- set.Sentinels[1].Sentinel().Subscribe(ctx, func(event valkeyclient.Event) { events <- event })
		}()
		if first := <-events; first.Kind != valkeyclient.EventSubscribed {
			t.Fatalf("first event: %+v", first)
		}
		if err := set.Sentinels[0].Sentinel().Failover(ctx, set.Monitor); err != nil {
			t.Fatal(err)
		}
		if err := set.Sentinels[0].Sentinel().Failover(ctx, set.Monitor); !errors.Is(err, valkeyclient.ErrInProgress) {
			t.Errorf("a second Failover: %v", err)
		}
		timeout := time.After(valkeytest.Patience)
		for switched := false; !switched; {
			select {
			case event := <-events:
				if switched = event.Kind == valkeyclient.EventSwitch; switched {
					want := valkeyclient.Event{
						Kind: valkeyclient.EventSwitch, Monitor: set.Monitor, Old: set.Nodes[0].Address, New: set.Nodes[1].Address,
						Address: set.Nodes[1].Address, Text: event.Text,
					}
					if event != want {
						t.Errorf("event %+v, want %+v", event, want)
					}
				}
			case <-timeout:
				t.Fatal("no +switch-master")
			}
		}
		cancel()
		if err := <-ended; !errors.Is(err, context.Canceled) {
			t.Errorf("Subscribe after cancel: %v", err)
		}
	})
}

func TestSubscriptionNoticesALostSentinel(t *testing.T) {
	for name, lose := range map[string]func(*valkeytest.Process){"killed": (*valkeytest.Process).Kill, "frozen": (*valkeytest.Process).Stop} {
		t.Run(name, func(t *testing.T) {
			process := valkeytest.StartSentinel(t, valkeytest.Options{Binary: valkeytest.Default(t)})
			subscribed := make(chan struct{})
			ended := make(chan error, 1)
			go func() {
				ended <- process.Sentinel().Subscribe(t.Context(), func(valkeyclient.Event) { close(subscribed) })
			}()
			<-subscribed
			lose(process)
			select {
			case err := <-ended:
				if !errors.Is(err, valkeyclient.ErrUnreachable) && !errors.Is(err, valkeyclient.ErrTimeout) {
					t.Errorf("Subscribe: %v", err)
				}
			case <-time.After(15 * time.Second):
				t.Fatal("not noticed")
			}
		})
	}
}

func second[T any](_ T, err error) error { return err }
