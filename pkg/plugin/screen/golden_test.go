// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package screen

import (
	"bytes"
	"flag"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/valkeykube/valkeykube/pkg/agent/decision"
	"github.com/valkeykube/valkeykube/pkg/agent/probe"
	"github.com/valkeykube/valkeykube/pkg/apis/valkey/v1alpha1"
	"github.com/valkeykube/valkeykube/pkg/plugin/cluster"
)

var update = flag.Bool("update", false, "rewrite the golden files")

var now = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func before(d time.Duration) metav1.Time { return metav1.NewTime(now.Add(-d)) }

func golden(t *testing.T, name string, print func(io.Writer)) {
	t.Helper()
	var got bytes.Buffer
	print(&got)
	file := filepath.Join("testdata", name+".txt")
	if *update {
		if err := os.WriteFile(file, got.Bytes(), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil || got.String() != string(want) {
		t.Errorf("%s differs (-update rewrites it): %v\n%s", file, err, &got)
	}
	for line := range strings.Lines(got.String()) {
		if strings.HasSuffix(line, " \n") {
			t.Errorf("blanks at the end of %q", line)
		}
	}
}

func healthy() *cluster.Overview {
	v := &v1alpha1.Valkey{ObjectMeta: metav1.ObjectMeta{Namespace: "demo", Name: "cache", CreationTimestamp: before(50 * time.Hour)}}
	v.Spec.Replicas, v.Spec.Image, v.Spec.Failover.Mode = 2, "docker.io/valkey/valkey:8.1", v1alpha1.FailoverModeSentinel
	v.Status = v1alpha1.ValkeyStatus{
		State: v1alpha1.StateReady, Primary: "cache-1", PrimaryAddress: "h1:6379", Replicas: 3, ReadyReplicas: 3, SyncedReplicas: 2,
		Monitoring:   &v1alpha1.MonitoringStatus{Sentinel: "watch", MonitorName: "cache", Registered: true, Quorum: 2, AvailableQuorum: 3},
		LastFailover: &v1alpha1.FailoverRecord{From: "cache-0", To: "cache-1", Cause: v1alpha1.FailoverCauseRequested, StartedAt: before(5 * time.Minute), Duration: &metav1.Duration{Duration: 350 * time.Millisecond}},
		Conditions: []metav1.Condition{
			{Type: v1alpha1.ConditionReady, Status: metav1.ConditionTrue, Reason: "AllReady", LastTransitionTime: before(4 * time.Minute)},
			{Type: v1alpha1.ConditionDegraded, Status: metav1.ConditionFalse, Reason: "AsExpected", LastTransitionTime: before(4 * time.Minute)},
		},
	}
	seen := &cluster.Overview{Valkey: v, Replication: &v1alpha1.Replication{Primary: "cache-1"}, Monitor: &v1alpha1.Monitor{
		ObjectMeta: metav1.ObjectMeta{Name: "watch.cache"}, MonitorName: "cache", Valkey: "cache", PrimaryAddress: "h1:6379", Agreed: true, OK: true, Quorum: 2,
	}}
	for i, role := range []v1alpha1.Role{v1alpha1.RoleReplica, v1alpha1.RolePrimary, v1alpha1.RoleReplica} {
		digit := string(rune('0' + i))
		m := v1alpha1.ReplicationMember{Node: "cache-" + digit, Address: "h" + digit + ":6379", Role: role, Synced: true, Offset: 1000, Keys: 7}
		if role == v1alpha1.RoleReplica {
			m.ReplicaOf, m.LinkUp = "h1:6379", true
		}
		view := v1alpha1.MonitorView{
			Pod: "valkey-sentinel-watch-" + digit, Registered: true, PrimaryAddress: "h1:6379", Flags: "master", Quorum: 2, Replicas: 2, OtherSentinels: 2,
			ConfigEpoch: 1, QuorumMessage: "OK 3 usable Sentinels",
		}
		seen.Replication.Members = append(seen.Replication.Members, m)
		seen.Monitor.Views = append(seen.Monitor.Views, view)
		seen.Pods = append(seen.Pods,
			cluster.Pod{Name: "valkey-cache-" + digit + "-0", Node: "cache-" + digit, Machine: "node-" + digit, Phase: "Running", Ready: true},
			cluster.Pod{Name: "valkey-sentinel-watch-" + digit, Machine: "node-" + digit, Phase: "Running", Ready: true})
	}
	seen.Replication.Monitors = seen.Monitor.Views
	return seen
}

// troubled is one in which all that can be wrong is.
func troubled() *cluster.Overview {
	seen := healthy()
	status := &seen.Valkey.Status
	status.State, status.Reason, status.Message = v1alpha1.StateDegraded, "MemberUnreachable", "cache-2 does not answer"
	status.Primary = "cache-0"
	status.LastFailover = nil
	status.Operation = &v1alpha1.OperationStatus{Type: v1alpha1.OperationFailover, Phase: v1alpha1.OperationInProgress, From: "cache-0", RequestedBy: "jo", StartedAt: before(3 * time.Second)}
	status.Monitoring.AvailableQuorum, status.Monitoring.Conflicting = 1, []string{"other"}
	status.Conditions[0].Status = metav1.ConditionFalse
	status.Conditions[1] = metav1.Condition{Type: v1alpha1.ConditionDegraded, Status: metav1.ConditionTrue, Reason: "MemberUnreachable", LastTransitionTime: before(time.Minute)}
	members := seen.Replication.Members
	members[0].Synced, members[0].SyncInProgress, members[0].ReplicaOf = false, true, "elsewhere:6379"
	members[2] = v1alpha1.ReplicationMember{Node: "cache-2", Address: "h2:6379", Role: v1alpha1.RoleUnknown, Error: "timeout"}
	seen.Monitor.OK, seen.Monitor.Agreed = false, false
	seen.Monitor.Views[0] = v1alpha1.MonitorView{Pod: "valkey-sentinel-watch-0", Error: "unreachable"}
	seen.Monitor.Views[1] = v1alpha1.MonitorView{Pod: "valkey-sentinel-watch-1"}
	seen.Monitor.Views[2].Flags, seen.Monitor.Views[2].FailoverState, seen.Monitor.Views[2].QuorumMessage = "master,o_down", "wait_start", "NOQUORUM"
	seen.Pods[4].Phase, seen.Pods[4].Ready, seen.Pods[4].Restarts = "CrashLoopBackOff", false, 4
	seen.Pods[1].Restarts = 2
	seen.Pods = append(seen.Pods, cluster.Pod{Name: "valkey-cache-3-0", Node: "cache-3", Phase: "Terminating"})
	return seen
}

func TestStatus(t *testing.T) {
	silent := troubled()
	silent.Replication, silent.Monitor = nil, nil
	silent.Valkey.Status.Members = []v1alpha1.MemberStatus{{Node: "cache-0", Role: v1alpha1.RolePrimary}, {Node: "cache-1", Role: v1alpha1.RoleUnknown, Reason: "Unreachable"}}
	silent.Unknown = []string{"replication: no member of the Valkey answers", "monitors: no Sentinel answers"}
	fresh := &cluster.Overview{Valkey: &v1alpha1.Valkey{ObjectMeta: metav1.ObjectMeta{Namespace: "demo", Name: "fresh"}}, Unknown: []string{"replication: cannot log in yet"}}
	encrypted, moving, asked := healthy(), healthy(), healthy()
	for seen, condition := range map[*cluster.Overview]metav1.Condition{
		encrypted: {Type: v1alpha1.ConditionEncrypted, Status: metav1.ConditionTrue, Reason: "AsExpected", LastTransitionTime: before(time.Minute)},
		moving: {Type: v1alpha1.ConditionEncrypted, Status: metav1.ConditionFalse, Reason: v1alpha1.ReasonPlaintextServed,
			Message: "plaintext is served beside TLS, as the spec asks", LastTransitionTime: before(time.Minute)},
	} {
		seen.Valkey.Status.Conditions = append(seen.Valkey.Status.Conditions, condition)
	}
	asked.Valkey.Spec.Networking.TLS = &v1alpha1.TLSSpec{Enabled: true}
	for name, seen := range map[string]*cluster.Overview{
		"healthy": healthy(), "troubled": troubled(), "silent": silent, "fresh": fresh, "encrypted": encrypted, "moving": moving, "asked": asked,
	} {
		t.Run(name, func(t *testing.T) {
			golden(t, "status-"+name, func(w io.Writer) { Status(w, seen, now, Palette{}) })
		})
	}
	golden(t, "summary", func(w io.Writer) {
		Summary(w, &v1alpha1.ValkeyList{Items: []v1alpha1.Valkey{*healthy().Valkey, *troubled().Valkey, {ObjectMeta: metav1.ObjectMeta{Name: "fresh"}}}}, now, Palette{})
	})
}

func TestReplicationAndMonitors(t *testing.T) {
	golden(t, "replication", func(w io.Writer) { Replication(w, troubled().Replication, Palette{}) })
	list := &v1alpha1.MonitorList{Items: []v1alpha1.Monitor{*healthy().Monitor, *troubled().Monitor}}
	golden(t, "monitors", func(w io.Writer) { Monitors(w, list, false, Palette{}) })
	golden(t, "monitors-wide", func(w io.Writer) { Monitors(w, list, true, Palette{}) })
}

func TestBoot(t *testing.T) {
	reports := []BootReport{
		{Pod: "valkey-cache-0-0", Report: &probe.Report{
			Name: "cache-0", Version: "v1", Phase: probe.PhaseDeciding, Since: now.Add(-time.Minute), Node: &probe.Node{
				Decision: probe.Decision{Action: decision.Wait, Code: decision.CodePending, Ask: decision.AskFailover, Target: "cache-1", Reason: "the Sentinels still name this node", After: 12.34},
				Named:    "cache-0", Source: decision.SourceHint, StandsBack: true, HasData: true, Position: decision.Position{ReplID: "abc", Offset: 5, History: []string{"old"}},
			},
		}},
		{Pod: "valkey-cache-1-0", Report: &probe.Report{Phase: probe.PhaseRunning, Node: &probe.Node{
			Decision: probe.Decision{Action: decision.StartReplica, Code: decision.CodeFollow, Primary: "cache-2", Reason: "it is named"},
			Fence:    &probe.Fence{Since: now.Add(-10 * time.Second), Reason: "no Sentinel confirms it"},
			Running:  &probe.Running{Role: "replica", Follows: "cache-2", LinkUp: true, Keys: 7, Seen: now.Add(-time.Second)},
		}}},
		{Pod: "valkey-cache-2-0", Error: "connect to pod valkey-cache-2-0: no such pod"},
		{Pod: "valkey-sentinel-watch-0", Report: &probe.Report{Phase: probe.PhaseRunning, Sentinel: &probe.Sentinel{
			MyID: "id", CurrentEpoch: 3, Monitors: []probe.Monitor{{Name: "cache", Host: "h1", Port: 6379, ConfigEpoch: 3}},
		}}},
	}
	golden(t, "boot", func(w io.Writer) { Boot(w, reports, now, Palette{}) })
}

func TestColoursChangeNothingElse(t *testing.T) {
	var plain, painted strings.Builder
	Status(&plain, troubled(), now, Palette{})
	Status(&painted, troubled(), now, NewPalette(true))
	if strings.Contains(plain.String(), "\x1b") || !strings.Contains(painted.String(), "\x1b[31m") {
		t.Error("colours where there should be none, or none where there should be some")
	}
	stripped := painted.String()
	for _, code := range []string{"0", red, green, yellow, faint, bold} {
		stripped = strings.ReplaceAll(stripped, "\x1b["+code+"m", "")
	}
	if stripped != plain.String() {
		t.Errorf("with colours it is\n%s\nwithout\n%s", stripped, &plain)
	}
}

func TestProgress(t *testing.T) {
	var out strings.Builder
	quiet := NewProgress(&out, false)
	quiet.Show("1 %")
	quiet.Note("begun")
	quiet.Note("begun")
	quiet.Note("done")
	quiet.Clear()
	if out.String() != "begun\ndone\n" {
		t.Errorf("where nobody looks: %q", &out)
	}
	out.Reset()
	live := NewProgress(&out, true)
	live.Show("1 %")
	live.Note("begun")
	live.Show("2 %")
	live.Clear()
	live.Clear()
	if out.String() != clearLine+"1 %"+clearLine+"begun\n"+clearLine+"2 %"+clearLine {
		t.Errorf("on a terminal: %q", &out)
	}
	for step := range 100 {
		if bar := MovingBar(step); len(bar) != barWidth+2 || strings.Count(bar, "=") != 5 {
			t.Errorf("step %d: %q", step, bar)
		}
	}
	for done, want := range map[time.Duration]int{0: 0, time.Second: 12, 2 * time.Second: 24, time.Hour: 24} {
		if got := strings.Count(Bar(done, 2*time.Second), "="); got != want {
			t.Errorf("%s of 2s: %d", done, got)
		}
	}
	for n, want := range map[int64]string{0: "0 B", 1023: "1023 B", 1536: "1.5 KiB", 5 << 20: "5.0 MiB", 3 << 40: "3.0 TiB", 5000 << 40: "5000.0 TiB"} {
		if got := Bytes(n); got != want {
			t.Errorf("%d: %s", n, got)
		}
	}
}
