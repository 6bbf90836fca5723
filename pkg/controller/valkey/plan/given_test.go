// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"github.com/valkeykube/valkeykube/pkg/apis/valkey/v1alpha1"
	"github.com/valkeykube/valkeykube/pkg/boot"
	"github.com/valkeykube/valkeykube/pkg/desired"
	"github.com/valkeykube/valkeykube/pkg/naming"
	"github.com/valkeykube/valkeykube/pkg/topology"
)

var testTime = time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)

// given is a healthy set: a primary, v-0, and as many replicas, with data, ready, and on record. The changes are made to it in order.
func given(mode v1alpha1.FailoverMode, replicas int, changes ...func(*Observed)) Observed {
	valkey := &v1alpha1.Valkey{ObjectMeta: metav1.ObjectMeta{Name: "v", Namespace: "ns", UID: "valkey", Generation: 1}}
	valkey.Spec.Replicas, valkey.Spec.Failover.Mode = int32(replicas), mode
	v1alpha1.SetObjectDefaults_Valkey(valkey)
	valkey.Status.Primary, valkey.Status.State = "v-0", v1alpha1.StateReady
	o := Observed{
		Now: testTime, Valkey: valkey,
		Environment: Environment{SystemNamespace: "system", DNS: boot.DNS{ClusterDomain: "cluster.local"}},
	}
	for i := range replicas + 1 {
		o.Nodes = append(o.Nodes, healthyNode(valkey, i))
		o.Snapshot.Members = append(o.Snapshot.Members, healthyMember(i))
	}
	primary := &o.Snapshot.Members[0]
	for i := 1; i <= replicas; i++ {
		primary.Connected = append(primary.Connected, topology.ConnectedReplica{Address: address(i), Online: true})
	}
	if mode == v1alpha1.FailoverModeSentinel {
		o.Monitoring.Set = &v1alpha1.ValkeySentinel{ObjectMeta: metav1.ObjectMeta{Name: "s", Namespace: "ns"}}
		o.Monitoring.Set.Spec.Replicas = 3
		for i := range 3 {
			o.Snapshot.Sentinels = append(o.Snapshot.Sentinels, topology.SentinelView{
				Name: naming.SentinelPod("s", i), Reach: topology.Reach{Class: topology.ReachOK},
				Monitors: map[string]topology.MonitorView{"v": {Primary: address(0), ConfigEpoch: 1, Quorum: 2, NumOtherSentinels: 2, NumReplicas: replicas, QuorumOK: true}},
			})
		}
	}
	for _, change := range changes {
		change(&o)
	}
	return o
}

func healthyNode(valkey *v1alpha1.Valkey, index int) Node {
	name := naming.NodeName("v", index)
	object := &v1alpha1.ValkeyNode{ObjectMeta: metav1.ObjectMeta{
		Name: name, Namespace: "ns", UID: types.UID("node-" + name), Generation: 1, Labels: naming.NodeLabels("v", name)}}
	object.Spec = desired.ValkeyNodeSpec(valkey, "")
	v1alpha1.SetObjectDefaults_ValkeyNode(object)
	object.Status = v1alpha1.ValkeyNodeStatus{ObservedGeneration: 1, WorkloadRevision: "old"}
	role := v1alpha1.RoleReplica
	if index == 0 {
		role = v1alpha1.RolePrimary
	}
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
		Name: naming.NodePod(name), Namespace: "ns", UID: types.UID("pod-" + name), Annotations: map[string]string{naming.AnnotationRevision: "old"},
		Labels: naming.With(naming.NodeLabels("v", name), map[string]string{naming.LabelRole: string(role)}),
	}}
	n := &simNode{index: index, pod: pod}
	n.setPod(true, true)
	return Node{Index: index, Object: object, Pod: n.pod}
}

func healthyMember(index int) topology.Member {
	m := topology.Member{
		Name: naming.NodeName("v", index), Address: address(index), Reach: topology.Reach{Class: topology.ReachOK}, Role: topology.RolePrimary,
		ReplID: "history", Offset: 1000, Keys: 7, Priority: 100, LinkDownFor: -1, LastIO: -1, Persistence: topology.Persistence{RDBLastSaveOK: true},
	}
	if index > 0 {
		m.Role, m.Primary, m.LinkUp, m.LastIO = topology.RoleReplica, address(0), true, 0
	}
	return m
}

// member changes what a member says.
func member(index int, changes ...func(*topology.Member)) func(*Observed) {
	return func(o *Observed) {
		for _, change := range changes {
			change(&o.Snapshot.Members[index])
		}
	}
}

func unreachable(m *topology.Member) { m.Reach.Class = topology.ReachTimeout }

func full(m *topology.Member) { m.Reach.Class = topology.ReachFull }

func unlinked(m *topology.Member) { m.LinkUp, m.LinkDownFor, m.LastIO = false, 5*time.Second, -1 }

// incompleteFor makes nodes ones that have had no complete copy for a while.
func incompleteFor(d time.Duration, indices ...int) func(*Observed) {
	return func(o *Observed) {
		o.Memory.IncompleteSince = map[string]time.Time{}
		for _, index := range indices {
			o.Memory.IncompleteSince[naming.NodeName("v", index)] = testTime.Add(-d)
		}
	}
}

func sentinelSays(index int, change func(*topology.MonitorView)) func(*Observed) {
	return func(o *Observed) {
		view := o.Snapshot.Sentinels[index].Monitors["v"]
		change(&view)
		o.Snapshot.Sentinels[index].Monitors["v"] = view
	}
}

// sayDown makes Sentinels hold the primary for down, quickly gives them a short down-after.
func sayDown(sentinels ...int) (changes []func(*Observed)) {
	for _, i := range sentinels {
		changes = append(changes, sentinelSays(i, func(m *topology.MonitorView) { m.SubjectDown, m.ObjectDown = true, true }))
	}
	return changes
}

func quickly(sentinels ...int) (changes []func(*Observed)) {
	for _, i := range sentinels {
		changes = append(changes, sentinelSays(i, func(m *topology.MonitorView) { m.Settings = map[string]string{"down-after-milliseconds": "2000"} }))
	}
	return changes
}

// pending makes nodes ask for another pod.
func pending(indices ...int) func(*Observed) {
	return func(o *Observed) {
		for _, i := range indices {
			o.Nodes[i].Object.Status.PendingRevision = "new"
		}
	}
}

// pod changes whether a server runs in a node's pod, and whether it is ready.
func podIs(index int, running, ready bool) func(*Observed) {
	return func(o *Observed) {
		n := &simNode{index: index, pod: o.Nodes[index].Pod}
		n.setPod(running, ready)
		o.Nodes[index].Pod = n.pod
	}
}

// awaySince is how long the primary has been away.
func awaySince(ago time.Duration) func(*Observed) {
	return func(o *Observed) { o.Memory.AwaySince = o.Now.Add(-ago) }
}

// only is a plan by the named steps, with all objects as they should be.
func only(o Observed, names ...string) Plan {
	var some []step
	for _, s := range steps() {
		for _, name := range names {
			if s.name == name {
				some = append(some, s)
			}
		}
	}
	return compute(o, some, func(kruntime.Object, kruntime.ApplyConfiguration) (bool, error) { return true, nil })
}

// said is the plan's actions and reasons for doing nothing, in short.
func said(p Plan) string {
	var words []string
	for _, action := range p.Actions {
		words = append(words, action.String())
	}
	for _, b := range p.Blocked {
		words = append(words, "blocked "+b.Reason)
	}
	return strings.Join(words, "; ")
}

func condition(status v1alpha1.ValkeyStatus, kind string) string {
	found := meta.FindStatusCondition(status.Conditions, kind)
	if found == nil {
		return "none"
	}
	return fmt.Sprintf("%s %s", found.Status, found.Reason)
}

// planCase is one situation and what has to come of it.
type planCase struct {
	o    Observed
	want string
}

func check(t *testing.T, cases map[string]planCase, steps ...string) {
	t.Helper()
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			if got := said(only(c.o, steps...)); !strings.HasPrefix(got, c.want) || c.want == "" && got != "" {
				t.Errorf("planned %q, want %q", got, c.want)
			}
		})
	}
}

// encoded is the JSON of a configuration.
func encoded(t *testing.T, config kruntime.ApplyConfiguration) string {
	t.Helper()
	text, err := json.Marshal(config)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
