// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package framework

import (
	"net"
	"slices"
	"strconv"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/valkeykube/valkeykube/pkg/apis/valkey/v1alpha1"
	"github.com/valkeykube/valkeykube/pkg/naming"
)

// NodesOfOurs are the machines on which the controller and the API server run.
func (e *Env) NodesOfOurs(t *testing.T) []string {
	t.Helper()
	return append(e.machinesOf(t, "valkey-apiserver"), e.machinesOf(t, "valkey-controller")...)
}

// NodeOfController is the machine on which the controller runs.
func (e *Env) NodeOfController(t *testing.T) string {
	t.Helper()
	return e.ControllerPod(t).Spec.NodeName
}

func (e *Env) machinesOf(t *testing.T, name string) []string {
	t.Helper()
	pods, err := e.Kube.CoreV1().Pods(systemNamespace).List(t.Context(), metav1.ListOptions{LabelSelector: "app.kubernetes.io/name=" + name})
	if err != nil {
		t.Fatal(err)
	}
	var machines []string
	for i := range pods.Items {
		machines = append(machines, pods.Items[i].Spec.NodeName)
	}
	return machines
}

// ControllerPod is the only pod of the controller.
func (e *Env) ControllerPod(t *testing.T) *corev1.Pod {
	t.Helper()
	pods, err := e.Kube.CoreV1().Pods(systemNamespace).List(t.Context(), metav1.ListOptions{LabelSelector: "app.kubernetes.io/name=valkey-controller"})
	if err != nil || len(pods.Items) != 1 {
		t.Fatalf("the controller's pods: %v, %v", pods, err)
	}
	return &pods.Items[0]
}

// MovePrimary fails over to a node whose machine will do, unless the primary's does. Nothing that is acknowledged to the client meanwhile is lost.
func (s *Set) MovePrimary(t *testing.T, c *Client, willDo func(machine string) bool) {
	t.Helper()
	status := s.Get(t).Status
	isPrimary := func(m v1alpha1.MemberStatus) bool { return m.Node == status.Primary }
	// The primary is looked at first: it stays where it will do.
	members := append(slices.DeleteFunc(slices.Clone(status.Members), func(m v1alpha1.MemberStatus) bool { return !isPrimary(m) }),
		slices.DeleteFunc(slices.Clone(status.Members), isPrimary)...)
	for _, m := range members {
		pod, err := s.Pod(t, m.Node)
		if err != nil {
			t.Fatal(err)
		}
		if !willDo(pod.Spec.NodeName) {
			continue
		}
		if !isPrimary(m) {
			s.Planned(t, c, "move", s.Route(), func() { s.Failover(t, v1alpha1.FailoverRequestSpec{To: m.Node}) })
			s.WaitPrimary(t, s.Address(m.Node), time.Minute)
		}
		return
	}
	t.Fatal("no node is on such a machine")
}

// SentinelsAwayFrom are the addresses, by IP, of the Sentinels on other machines.
func (s *Set) SentinelsAwayFrom(t *testing.T, machine string) []string {
	t.Helper()
	var addresses []string
	for i := range s.Sentinels {
		pod, err := s.Env.Kube.CoreV1().Pods(s.Namespace).Get(t.Context(), naming.SentinelPod(s.Sentinel, i), metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if pod.Spec.NodeName != machine {
			addresses = append(addresses, net.JoinHostPort(pod.Status.PodIP, strconv.Itoa(naming.PortSentinel)))
		}
	}
	if len(addresses) < s.Sentinels/2+1 {
		t.Fatalf("only %v would be left of %d Sentinels", addresses, s.Sentinels)
	}
	return addresses
}

// NodeAt is the node that has an address, host:port, by its name alone.
func (s *Set) NodeAt(t *testing.T, address string) string {
	t.Helper()
	for i := range 16 {
		if node := naming.NodeName(s.Name, i); s.Address(node) == address {
			return node
		}
	}
	t.Fatalf("no node has the address %q", address)
	return ""
}
