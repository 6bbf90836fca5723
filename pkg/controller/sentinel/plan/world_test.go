// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	appsv1ac "k8s.io/client-go/applyconfigurations/apps/v1"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	policyv1ac "k8s.io/client-go/applyconfigurations/policy/v1"
	rbacv1ac "k8s.io/client-go/applyconfigurations/rbac/v1"
	"k8s.io/client-go/kubernetes/fake"

	"github.com/valkeykube/valkeykube/pkg/apis/valkey/v1alpha1"
	"github.com/valkeykube/valkeykube/pkg/boot"
	"github.com/valkeykube/valkeykube/pkg/naming"
	"github.com/valkeykube/valkeykube/pkg/topology"
)

const (
	testNamespace = "ns"
	testDomain    = "cluster.local"
	testSet       = "s"
)

// world is a model of a cluster with one ValkeySentinel: a fake API that knows server-side apply, a StatefulSet controller, and Sentinels
// that find each other and their replicas, forget by RESET, and lose everything with their process except what the boot settings say.
type world struct {
	t         *testing.T
	now       time.Time
	kube      *fake.Clientset
	set       *v1alpha1.ValkeySentinel
	valkeys   map[string]*modelValkey
	sentinels map[int]*modelSentinel
	pods      map[string]*corev1.Pod
	memory    Memory
	settled   map[string]string
	// applied counts writes to the API, and is the version of everything in it.
	applied int
	names   int
	// last is the last plan, writes counts what it sent to Sentinels and API.
	last   Plan
	writes int
}

type modelValkey struct {
	object   *v1alpha1.Valkey
	selected bool
	password string
	open     bool // lets Sentinels in with any password
	nodes    []*modelNode
}

type modelNode struct {
	address topology.Address
	up      bool
	upSince time.Time
	primary bool
	follows topology.Address
}

type modelSentinel struct {
	run      string
	silent   bool // does not answer us
	locked   bool // knows other passwords than ours
	bornAt   time.Time
	monitors map[string]*modelMonitor
}

type modelMonitor struct {
	primary  topology.Address
	epoch    int64
	quorum   int
	settings map[string]string
	password string
	failover bool
	replicas map[topology.Address]time.Time // known from that time on
	peers    map[string]bool                // by id
}

func newWorld(t *testing.T, valkeys ...string) *world {
	set := &v1alpha1.ValkeySentinel{ObjectMeta: metav1.ObjectMeta{Name: testSet, Namespace: testNamespace, UID: "set-uid", Generation: 1}}
	set.Spec.Replicas = 3
	w := &world{
		t: t, now: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), kube: fake.NewClientset(), set: set,
		valkeys: map[string]*modelValkey{}, sentinels: map[int]*modelSentinel{}, pods: map[string]*corev1.Pod{}, memory: Memory{},
	}
	for _, name := range valkeys {
		w.addValkey(name, 3)
	}
	return w
}

func (w *world) addValkey(name string, nodes int) *modelValkey {
	object := &v1alpha1.Valkey{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: testNamespace, UID: types.UID(name + "-uid")}}
	object.Spec.Failover.Mode = v1alpha1.FailoverModeSentinel
	object.Spec.Replicas = int32(nodes - 1)
	valkey := &modelValkey{object: object, selected: true, password: "secret-of-" + name}
	for i := range nodes {
		valkey.nodes = append(valkey.nodes, &modelNode{up: true, primary: i == 0, address: topology.Address{
			Host: naming.NodeHost(naming.NodeName(name, i), testNamespace, testDomain), Port: naming.PortValkey,
		}})
	}
	valkey.attach()
	w.valkeys[name] = valkey
	return valkey
}

// attach makes every replica follow the primary.
func (v *modelValkey) attach() {
	primary := v.primary()
	for _, node := range v.nodes {
		node.follows = topology.Address{}
		if primary != nil && node != primary {
			node.follows = primary.address
		}
	}
}

func (v *modelValkey) letsIn(m *modelMonitor) bool { return v.open || m.password == v.password }

func (v *modelValkey) primary() *modelNode {
	for _, node := range v.nodes {
		if node.primary {
			return node
		}
	}
	return nil
}

// failOver makes another node primary, in the nodes and in the eyes of the Sentinels that monitor it, except those that are behind.
func (w *world) failOver(name string, to int, behind ...int) {
	valkey := w.valkeys[name]
	for i, node := range valkey.nodes {
		node.primary = i == to
	}
	valkey.attach()
	for i, sentinel := range w.sentinels {
		if m, ok := sentinel.monitors[v1alpha1.EffectiveMonitorName(valkey.object)]; ok && !slices.Contains(behind, i) {
			m.primary, m.epoch = valkey.nodes[to].address, m.epoch+1
		}
	}
}

// tick lets a second pass: the StatefulSet controller makes and removes pods, Sentinels find peers and replicas.
func (w *world) tick() {
	w.now = w.now.Add(time.Second)
	w.reconcilePods()
	for i, sentinel := range w.sentinels {
		for name, m := range sentinel.monitors {
			w.discover(i, name, m)
		}
	}
}

func (w *world) reconcilePods() {
	workload := w.workload()
	if workload == nil {
		return
	}
	for name, pod := range w.pods {
		if pod.DeletionTimestamp != nil {
			delete(w.pods, name)
		}
	}
	for i := range int(*workload.Spec.Replicas) + mostScaledAway {
		name := naming.SentinelPod(testSet, i)
		pod, exists := w.pods[name]
		switch {
		case i >= int(*workload.Spec.Replicas):
			delete(w.pods, name)
			delete(w.sentinels, i)
		case !exists:
			w.names++
			w.pods[name] = &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
				Name: name, Namespace: testNamespace, UID: types.UID(fmt.Sprint("pod-", w.names)),
				Annotations: workload.Spec.Template.Annotations, CreationTimestamp: metav1.NewTime(w.now),
			}}
			delete(w.sentinels, i)
		case !isPodReady(pod):
			pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}
			w.startSentinel(i)
		}
	}
}

// startSentinel starts a process that knows what the boot settings say.
func (w *world) startSentinel(index int) {
	w.names++
	sentinel := &modelSentinel{run: fmt.Sprint("run-", w.names), bornAt: w.now, monitors: map[string]*modelMonitor{}}
	for _, m := range w.observe().Noted.Monitors {
		sentinel.monitors[m.Name] = newModelMonitor(topology.Address{Host: m.Host, Port: m.Port}, m.Quorum, m.AuthPass, m.Settings)
	}
	w.sentinels[index] = sentinel
}

func newModelMonitor(primary topology.Address, quorum int, password string, settings map[string]string) *modelMonitor {
	m := &modelMonitor{primary: primary, quorum: quorum, password: password, settings: maps.Clone(sentinelDefaults),
		replicas: map[topology.Address]time.Time{}, peers: map[string]bool{}}
	maps.Copy(m.settings, settings)
	return m
}

func (w *world) id(index int) string {
	return naming.SentinelID(string(w.set.UID), naming.SentinelPod(testSet, index))
}

// discover lets a Sentinel hear its peers, take over a higher epoch, and find replicas through the primary.
func (w *world) discover(index int, name string, m *modelMonitor) {
	for other, peer := range w.sentinels {
		if theirs, ok := peer.monitors[name]; ok && other != index {
			m.peers[w.id(other)] = true
			if theirs.epoch > m.epoch {
				m.epoch, m.primary = theirs.epoch, theirs.primary
			}
		}
	}
	for _, valkey := range w.valkeys {
		primary := valkey.primary()
		if primary == nil || !primary.up || primary.address != m.primary || !valkey.letsIn(m) {
			continue
		}
		for _, node := range valkey.nodes {
			if _, known := m.replicas[node.address]; node != primary && node.up && !known {
				m.replicas[node.address] = w.now.Add(3 * time.Second)
			}
		}
		delete(m.replicas, primary.address)
	}
}

func (w *world) workload() *appsv1.StatefulSet {
	workload, err := w.kube.AppsV1().StatefulSets(testNamespace).Get(context.Background(), naming.SentinelWorkload(testSet), metav1.GetOptions{})
	if err != nil {
		return nil
	}
	workload.ResourceVersion = fmt.Sprint(w.applied)
	return workload
}

// apply sends a configuration to the fake API.
func (w *world) apply(config any) error {
	ctx, options := context.Background(), metav1.ApplyOptions{FieldManager: naming.FieldManager, Force: true}
	w.applied++
	var err error
	switch config := config.(type) {
	case *corev1ac.SecretApplyConfiguration:
		_, err = w.kube.CoreV1().Secrets(testNamespace).Apply(ctx, config, options)
	case *corev1ac.ServiceApplyConfiguration:
		_, err = w.kube.CoreV1().Services(testNamespace).Apply(ctx, config, options)
	case *appsv1ac.StatefulSetApplyConfiguration:
		_, err = w.kube.AppsV1().StatefulSets(testNamespace).Apply(ctx, config, options)
	case *policyv1ac.PodDisruptionBudgetApplyConfiguration:
		_, err = w.kube.PolicyV1().PodDisruptionBudgets(testNamespace).Apply(ctx, config, options)
	case *rbacv1ac.RoleApplyConfiguration:
		_, err = w.kube.RbacV1().Roles(testNamespace).Apply(ctx, config, options)
	case *rbacv1ac.RoleBindingApplyConfiguration:
		_, err = w.kube.RbacV1().RoleBindings(testNamespace).Apply(ctx, config, options)
	default:
		err = fmt.Errorf("unexpected %T", config)
	}
	return err
}

func (w *world) endpoints(valkey *modelValkey) []boot.Endpoint {
	var endpoints []boot.Endpoint
	for i, node := range valkey.nodes {
		endpoints = append(endpoints, boot.Endpoint{Name: naming.NodeName(valkey.object.Name, i), Host: node.address.Host, Port: node.address.Port})
	}
	return endpoints
}
