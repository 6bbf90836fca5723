// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package inspect_test

import (
	"context"
	"errors"
	"net"
	"testing"
	"time"

	"github.com/valkeykube/valkeykube/pkg/inspect"
	"github.com/valkeykube/valkeykube/pkg/topology"
	"github.com/valkeykube/valkeykube/pkg/valkeyclient"
	"github.com/valkeykube/valkeykube/pkg/valkeyclient/valkeytest"
)

func subject(set *valkeytest.Set) inspect.Subject {
	s := inspect.Subject{Monitor: set.Monitor}
	for _, node := range set.Nodes {
		s.Members = append(s.Members, inspect.Member{Target: node.Target(), Aliases: []string{node.Name}})
	}
	for _, sentinel := range set.Sentinels {
		s.Sentinels = append(s.Sentinels, sentinel.Target())
	}
	return s
}

func inspector(t *testing.T) inspect.Inspector {
	client := valkeyclient.New(valkeyclient.Options{})
	t.Cleanup(client.Close)
	return inspect.Inspector{Clients: client}
}

func TestLookAtAHealthySet(t *testing.T) {
	valkeytest.Each(t, func(t *testing.T, binary valkeytest.Binary) {
		set := valkeytest.StartSet(t, valkeytest.SetOptions{Binary: binary, Replicas: 2, Sentinels: 3, Hurry: true})
		s := subject(set)
		s.Peers = true
		began := time.Now()
		snapshot := inspector(t).Look(t.Context(), s)

		if snapshot.Now.Before(began) {
			t.Errorf("Now is %s", snapshot.Now)
		}
		if primary := snapshot.Primary(set.Monitor); primary.Name != "node-0" || len(primary.Disputes) != 0 {
			t.Errorf("Primary: %+v", primary)
		}
		if quorum := snapshot.Quorum(set.Monitor); !quorum.OK || quorum.Available != 3 || quorum.Known != 3 || quorum.Wanted != 2 {
			t.Errorf("Quorum: %+v", quorum)
		}
		if verdict := snapshot.SentinelPrimary(set.Monitor); verdict.Member != "node-0" || !verdict.Agreed || !verdict.Majority() {
			t.Errorf("SentinelPrimary: %+v", verdict)
		}
		if synced := snapshot.SyncedReplicas("node-0"); len(synced) != 2 {
			t.Errorf("SyncedReplicas: %+v", synced)
		}
		for _, m := range snapshot.Members {
			if !m.Reach.OK() || m.Reach.When.IsZero() || m.Version == "" || m.RunID == "" || m.Memory.Used == 0 || m.Loading || m.Priority != 100 {
				t.Errorf("%+v", m)
			}
		}
		if found, known := snapshot.MemberAt(topology.Address{Host: "node-1", Port: set.Nodes[1].Address.Port}); !known || found.Name != "node-1" {
			t.Errorf("by alias: %+v", found)
		}
		for _, view := range snapshot.Sentinels {
			monitor := view.Monitors[set.Monitor]
			if len(view.MyID) != 40 || len(view.Monitors) != 1 || len(monitor.Replicas) != 2 || len(monitor.Peers) != 2 ||
				monitor.ReportedRole != topology.RolePrimary || monitor.Settings["down-after-milliseconds"] != "1000" || monitor.SubjectDown {
				t.Errorf("%+v", view)
			}
		}
	})
}

func TestLookAtAllMonitors(t *testing.T) {
	set := valkeytest.StartSet(t, valkeytest.SetOptions{Binary: valkeytest.Default(t), Replicas: 1, Sentinels: 3, Hurry: true})
	second := valkeyclient.Registration{Name: "other", Primary: set.Nodes[0].Address, Quorum: 3}
	if err := set.Sentinels[0].Sentinel().Register(t.Context(), second); err != nil {
		t.Fatal(err)
	}
	s := subject(set)
	s.Monitor = ""
	snapshot := inspector(t).Look(t.Context(), s)
	if first := snapshot.Sentinels[0]; len(first.Monitors) != 2 || first.Monitors["other"].Quorum != 3 || first.Monitors["other"].Replicas != nil {
		t.Errorf("%+v", first)
	}
	if verdict := snapshot.SentinelPrimary("other"); verdict.Votes != 1 || len(verdict.Missing) != 2 {
		t.Errorf("%+v", verdict)
	}
	s.Monitor = "unknown"
	for _, view := range inspector(t).Look(t.Context(), s).Sentinels {
		if !view.Reach.OK() || view.Monitors == nil || len(view.Monitors) != 0 {
			t.Errorf("a Sentinel that does not hold the monitor: %+v", view)
		}
	}
}

// Each way not to answer is told apart, and none delays the look by more than its own time.
func TestLookAtASetInTrouble(t *testing.T) {
	set := valkeytest.StartSet(t, valkeytest.SetOptions{Binary: valkeytest.Default(t), Replicas: 2, Sentinels: 3, Hurry: true})
	locked := valkeytest.StartServer(t, valkeytest.Options{Binary: valkeytest.Default(t), Name: "locked", Config: []string{"requirepass x"}})
	restricted := valkeytest.StartServer(t, valkeytest.Options{Binary: valkeytest.Default(t), Name: "restricted", ACL: []string{"user default on nopass +ping"}})
	set.Nodes[1].Kill()
	set.Nodes[2].Stop()
	set.Sentinels[0].Kill()
	set.Sentinels[1].Stop()
	s := subject(set)
	for _, process := range []*valkeytest.Process{locked, restricted} {
		s.Members = append(s.Members, inspect.Member{Target: process.Target()})
	}
	s.Members = append(s.Members, inspect.Member{Target: valkeyclient.Target{Name: "malformed", Address: "nonsense"}})

	began := time.Now()
	snapshot := inspector(t).Look(t.Context(), s)
	if took := time.Since(began); took > 2500*time.Millisecond {
		t.Errorf("the look took %s", took)
	}
	for i, want := range []topology.ReachClass{
		topology.ReachOK, topology.ReachUnreachable, topology.ReachTimeout, topology.ReachAuth, topology.ReachPermission, topology.ReachError,
	} {
		if m := snapshot.Members[i]; m.Reach.Class != want || (m.Reach.Text == "") != (want == topology.ReachOK) || m.Name != s.Members[i].Target.Name {
			t.Errorf("%s: %+v, want %s", m.Name, m.Reach, want)
		}
	}
	for i, want := range []topology.ReachClass{topology.ReachUnreachable, topology.ReachTimeout, topology.ReachOK} {
		if view := snapshot.Sentinels[i]; view.Reach.Class != want || (view.Monitors == nil) != (want != topology.ReachOK) {
			t.Errorf("%+v, want %s", view, want)
		}
	}
	if primary := snapshot.Primary(set.Monitor); primary.Name != "node-0" {
		t.Errorf("%+v", primary)
	}
	if quorum := snapshot.Quorum(set.Monitor); quorum.OK || quorum.Available != 1 {
		t.Errorf("%+v", quorum)
	}
}

// What refuses writes, and what refuses connections, is seen on every version.
func TestWhatAMemberRefusesIsSeen(t *testing.T) {
	valkeytest.Each(t, func(t *testing.T, binary valkeytest.Binary) {
		server := valkeytest.StartServer(t, valkeytest.Options{Binary: binary, Config: []string{"maxclients 20"}})
		s := inspect.Subject{Members: []inspect.Member{{Target: server.Target()}}}
		connected := inspector(t)
		look := func() topology.Member { return connected.Look(t.Context(), s).Members[0] }
		if m := look(); !m.Reach.OK() || m.Full || m.WantsReplicas {
			t.Errorf("%+v", m)
		}
		server.Command("CONFIG", "SET", "min-replicas-to-write", "1", "min-replicas-max-lag", "2")
		valkeytest.StartCrowd(t, server.Address)
		if m := look(); !m.Reach.OK() || !m.Full || !m.WantsReplicas {
			t.Errorf("%+v", m)
		}
		if m := inspector(t).Look(t.Context(), s).Members[0]; m.Reach.Class != topology.ReachFull {
			t.Errorf("by another connection: %+v", m.Reach)
		}
	})
}

func TestALoadingMemberIsSeenAsSuch(t *testing.T) {
	server := valkeytest.StartServer(t, valkeytest.Options{Binary: valkeytest.Default(t), Config: []string{"key-load-delay 200", "loading-process-events-interval-bytes 1024", "appendonly yes"}})
	connection, err := net.Dial("tcp", server.Address.String())
	if err != nil {
		t.Fatal(err)
	}
	defer connection.Close()
	if _, err := connection.Write([]byte("DEBUG POPULATE 20000\r\nBGREWRITEAOF\r\n")); err != nil {
		t.Fatal(err)
	}
	valkeytest.Eventually(t, "the data is on disk", func(ctx context.Context) error {
		info, err := server.Node().Info(ctx, "persistence", "keyspace")
		if err == nil && (info["aof_rewrite_in_progress"] != "0" || info["aof_rewrite_scheduled"] != "0" || info["aof_last_bgrewrite_status"] != "ok" || info["db0"] == "") {
			return errors.New("not yet")
		}
		return err
	})
	server.Kill()
	server.StartAsync()
	look := inspector(t)
	valkeytest.Eventually(t, "it is seen loading", func(ctx context.Context) error {
		m := look.Look(ctx, inspect.Subject{Members: []inspect.Member{{Target: server.Target()}}}).Members[0]
		if m.Reach.Class != topology.ReachLoading || !m.Loading || !m.Answered() || !m.HasData() || m.Role != topology.RolePrimary {
			return errors.New("not yet")
		}
		return nil
	})
}

// A caller that has no time left gets an answer for each process all the same.
func TestLookWithoutTime(t *testing.T) {
	hang := valkeyclient.New(valkeyclient.Options{Dialer: func(ctx context.Context, _, _ string) (net.Conn, error) {
		<-ctx.Done()
		return nil, ctx.Err()
	}})
	defer hang.Close()
	var s inspect.Subject
	for range 40 {
		s.Members = append(s.Members, inspect.Member{Target: valkeyclient.Target{Name: "n", Address: "h:1"}})
		s.Sentinels = append(s.Sentinels, valkeyclient.Target{Name: "s", Address: "h:2"})
	}
	began := time.Now()
	snapshot := inspect.Inspector{Clients: hang, Deadline: 300 * time.Millisecond, Parallel: 2}.Look(t.Context(), s)
	if took := time.Since(began); took > 2*time.Second {
		t.Errorf("took %s", took)
	}
	for _, m := range snapshot.Members {
		if m.Name != "n" || m.Reach.OK() || m.Reach.Class == topology.ReachUnknown {
			t.Fatalf("%+v", m)
		}
	}
	for _, view := range snapshot.Sentinels {
		if view.Name != "s" || view.Reach.OK() || view.Reach.Class == topology.ReachUnknown {
			t.Fatalf("%+v", view)
		}
	}
}
