// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package view

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/valkeykube/valkeykube/pkg/apis/valkey/v1alpha1"
	"github.com/valkeykube/valkeykube/pkg/topology"
)

func host(name string) topology.Address { return topology.Address{Host: name + ".example", Port: 6379} }

func primary(name string) topology.Member {
	return topology.Member{
		Name: name, Address: host(name), Reach: topology.Reach{Class: topology.ReachOK}, Role: topology.RolePrimary,
		ReplID: "a", Offset: 100, Keys: 7, Persistence: topology.Persistence{RDBLastSaveOK: true},
	}
}

func replica(name, of string, changes ...func(*topology.Member)) topology.Member {
	m := topology.Member{
		Name: name, Address: host(name), Reach: topology.Reach{Class: topology.ReachOK}, Role: topology.RoleReplica,
		Primary: host(of), LinkUp: true, ReplID: "a", Offset: 90, Keys: 7, Persistence: topology.Persistence{RDBLastSaveOK: true},
	}
	for _, change := range changes {
		change(&m)
	}
	return m
}

func TestMembers(t *testing.T) {
	snapshot := topology.Snapshot{Members: []topology.Member{
		primary("v-0"),
		replica("v-1", "v-0"),
		replica("v-2", "v-1"),
		replica("v-3", "v-0", func(m *topology.Member) { m.LinkUp = false }),
		replica("v-4", "v-0", func(m *topology.Member) { m.LinkUp, m.Syncing = false, true }),
		replica("v-5", "v-0", func(m *topology.Member) { m.Reach.Class = topology.ReachTimeout }),
		primary("v-6"),
		replica("v-7", "v-0", func(m *topology.Member) {
			m.Persistence = topology.Persistence{AOFEnabled: true, RDBLastSaveOK: true}
		}),
		replica("v-8", "v-0", func(m *topology.Member) { m.Reach.Class, m.Loading = topology.ReachLoading, true }),
		{Name: "v-9", Address: host("v-9")},
		{Name: "v-10", Address: host("v-10"), Reach: topology.Reach{Class: topology.ReachFull}},
		replica("v-11", "v-0", func(m *topology.Member) { m.Full = true }),
		replica("v-12", "v-0", func(m *topology.Member) { m.Full, m.LinkUp = true, false }),
	}}
	want := []v1alpha1.MemberStatus{
		{Node: "v-0", Pod: "p0", Role: v1alpha1.RolePrimary, Synced: true},
		{Node: "v-1", Role: v1alpha1.RoleReplica, Synced: true, LinkUp: true},
		{Node: "v-2", Role: v1alpha1.RoleReplica, LinkUp: true, Reason: v1alpha1.ReasonWrongPrimary},
		{Node: "v-3", Role: v1alpha1.RoleReplica, Reason: v1alpha1.ReasonLinkDown},
		{Node: "v-4", Role: v1alpha1.RoleReplica, Reason: v1alpha1.ReasonSyncing},
		{Node: "v-5", Role: v1alpha1.RoleUnknown, Reason: v1alpha1.ReasonMemberUnreachable},
		{Node: "v-6", Role: v1alpha1.RolePrimary, Reason: v1alpha1.ReasonSeveralPrimaries},
		{Node: "v-7", Role: v1alpha1.RoleReplica, Synced: true, LinkUp: true, Reason: v1alpha1.ReasonDiskWriteFailed},
		{Node: "v-8", Role: v1alpha1.RoleReplica, LinkUp: true, Reason: v1alpha1.ReasonLoading},
		{Node: "v-9", Role: v1alpha1.RoleUnknown, Reason: v1alpha1.ReasonNotYetObserved},
		{Node: "v-10", Role: v1alpha1.RoleUnknown, Reason: v1alpha1.ReasonTooManyClients},
		{Node: "v-11", Role: v1alpha1.RoleReplica, Synced: true, LinkUp: true, Reason: v1alpha1.ReasonTooManyClients},
		{Node: "v-12", Role: v1alpha1.RoleReplica, Reason: v1alpha1.ReasonLinkDown},
	}
	got := Members(snapshot, "v-0", map[string]string{"v-0": "p0"})
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("members (-want +got):\n%s", diff)
	}
}

func TestNothingInTheMembersMovesWithTheStream(t *testing.T) {
	at := func(offset int64) []v1alpha1.MemberStatus {
		leader, follower := primary("v-0"), replica("v-1", "v-0")
		leader.Offset, follower.Offset, follower.LastIO = offset, offset-1, time.Duration(offset)
		return Members(topology.Snapshot{Members: []topology.Member{leader, follower}}, "v-0", nil)
	}
	if diff := cmp.Diff(at(100), at(5000)); diff != "" {
		t.Errorf("the status moved with the stream:\n%s", diff)
	}
}

func TestReplicationTellsErrorsAndLag(t *testing.T) {
	lost := replica("v-2", "v-0", func(m *topology.Member) {
		m.Reach = topology.Reach{Class: topology.ReachUnreachable, Text: "connection refused"}
	})
	snapshot := topology.Snapshot{Members: []topology.Member{primary("v-0"), replica("v-1", "v-0"), lost}}
	answer := Replication(snapshot, "v-0", "")
	if !answer.Members[0].Synced || !answer.Members[1].Synced {
		t.Errorf("not synced: %+v", answer.Members)
	}
	if got := answer.Members[1]; got.LagBytes != 10 || got.ReplicaOf != "v-0.example:6379" || !got.LinkUp {
		t.Errorf("replica: %+v", got)
	}
	want := v1alpha1.ReplicationMember{
		Node: "v-2", Address: "v-2.example:6379", Role: v1alpha1.RoleUnknown, Error: "Unreachable: connection refused"}
	if diff := cmp.Diff(want, answer.Members[2]); diff != "" {
		t.Errorf("the unreachable member tells what nobody knows (-want +got):\n%s", diff)
	}
}

func TestMonitorsKeepEverySentinelsOwnView(t *testing.T) {
	holds := func(primary string, ok bool) map[string]topology.MonitorView {
		return map[string]topology.MonitorView{"m": {Primary: host(primary), Quorum: 2, QuorumOK: ok, Flags: []string{"master", "s_down"}}}
	}
	ok := topology.Reach{Class: topology.ReachOK}
	snapshot := topology.Snapshot{Sentinels: []topology.SentinelView{
		{Name: "s-0", Reach: ok, MyID: "id0", Monitors: holds("v-1", false)},
		{Name: "s-1", Reach: ok, Monitors: holds("v-0", true)},
		{Name: "s-2", Reach: ok, Monitors: holds("v-1", false)},
		{Name: "s-3", Reach: topology.Reach{Class: topology.ReachTimeout}},
		{Name: "s-4", Reach: ok, Monitors: map[string]topology.MonitorView{}},
	}}
	set := &v1alpha1.ValkeySentinel{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "watch"}}
	answer := Monitors(snapshot, set, map[string]string{"m": "v", "wanted": "w"})
	if len(answer.Items) != 2 || len(answer.Sentinels) != 5 || answer.Sentinels[3].Error == "" || answer.Sentinels[0].ID != "id0" {
		t.Fatalf("answer: %+v", answer)
	}
	monitor := answer.Items[0]
	if monitor.Valkey != "v" || monitor.PrimaryAddress != "v-1.example:6379" || monitor.Agreed || !monitor.OK || monitor.Quorum != 2 {
		t.Errorf("monitor: %+v", monitor)
	}
	registered := []bool{true, true, true, false, false}
	for i, view := range monitor.Views {
		if view.Registered != registered[i] {
			t.Errorf("view %d: registered %v", i, view.Registered)
		}
	}
	if monitor.Name != "watch.m" || monitor.Namespace != "ns" || monitor.Sentinel != "watch" || monitor.MonitorName != "m" {
		t.Errorf("monitor is called %+v", monitor)
	}
	if monitor.Views[3].Error != "Timeout" || monitor.Views[4].Error != "" {
		t.Errorf("errors of views: %+v", monitor.Views)
	}
	if wanted := answer.Items[1]; wanted.MonitorName != "wanted" || wanted.Valkey != "w" || wanted.Agreed || wanted.OK {
		t.Errorf("a monitor that nobody holds yet: %+v", wanted)
	}
	if monitor.Views[0].Flags != "master,s_down" {
		t.Errorf("flags %q", monitor.Views[0].Flags)
	}
}
