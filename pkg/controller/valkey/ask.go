// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package valkey

import (
	"cmp"
	"context"
	"net"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/valkeykube/valkeykube/pkg/apis/valkey/v1alpha1"
	"github.com/valkeykube/valkeykube/pkg/desired"
	"github.com/valkeykube/valkeykube/pkg/inspect"
	"github.com/valkeykube/valkeykube/pkg/naming"
	"github.com/valkeykube/valkeykube/pkg/topology"
	"github.com/valkeykube/valkeykube/pkg/valkeyclient"
)

// ask asks every server and Sentinel what it is, all at once, each for at most patience.
func (r *reconciler) ask(ctx context.Context, l *look, patience time.Duration) topology.Snapshot {
	inspector := inspect.Inspector{Clients: r.clients(l), ProbeTimeout: patience, Deadline: 2 * patience, Now: r.now}
	snapshot := inspector.Look(ctx, r.subject(l))
	for _, n := range l.Nodes {
		if !mayAnswer(n.Pod, naming.ContainerServer) {
			address := r.address(l.Valkey.Namespace, n.Object.Name)
			snapshot.Members = append(snapshot.Members, topology.Member{Name: n.Object.Name, Address: address, Reach: noServer(r.now())})
		}
	}
	for _, name := range sentinelNames(l.Monitoring.Set) {
		if !mayAnswer(l.sentinelPods[name], naming.ContainerSentinel) {
			snapshot.Sentinels = append(snapshot.Sentinels, topology.SentinelView{Name: name, Reach: noServer(r.now())})
		}
	}
	sortByName(&snapshot)
	return snapshot
}

// subject is every server and Sentinel that may answer, at the host names by which they know each other.
func (r *reconciler) subject(l *look) inspect.Subject {
	subject := inspect.Subject{Monitor: v1alpha1.EffectiveMonitorName(l.Valkey)}
	for _, n := range l.Nodes {
		if mayAnswer(n.Pod, naming.ContainerServer) {
			subject.Members = append(subject.Members, inspect.Member{
				Target:  target(n.Object.Name, r.address(l.Valkey.Namespace, n.Object.Name), l.nodePassword),
				Aliases: desired.PodIPs(n.Pod),
			})
		}
	}
	for i, name := range sentinelNames(l.Monitoring.Set) {
		if mayAnswer(l.sentinelPods[name], naming.ContainerSentinel) {
			address := r.sentinelAddress(l.Monitoring.Set, i)
			subject.Sentinels = append(subject.Sentinels, target(name, address, l.sentinelPassword))
		}
	}
	return subject
}

// sentinelNames are the pods of a set, by index.
func sentinelNames(set *v1alpha1.ValkeySentinel) []string {
	var names []string
	if set != nil {
		for i := range int(set.Spec.Replicas) {
			names = append(names, naming.SentinelPod(set.Name, i))
		}
	}
	return names
}

// byPod connects to the addresses of the pods, which the API knows, instead of resolving host names: the cluster's DNS may be down when it
// matters most. Host names it does not know stay as they are.
type byPod struct {
	clients inspect.Clients
	// ips and encryption by the process's name.
	ips        map[string]string
	encryption map[string]valkeyclient.Encryption
}

func (r *reconciler) clients(l *look) inspect.Clients {
	pods := byPod{clients: r.deps.Valkey, ips: map[string]string{}, encryption: l.encryption}
	for _, n := range l.Nodes {
		if n.Pod != nil {
			pods.ips[n.Object.Name] = n.Pod.Status.PodIP
		}
	}
	for name, pod := range l.sentinelPods {
		pods.ips[name] = pod.Status.PodIP
	}
	return pods
}

func (b byPod) Node(target valkeyclient.Target) (valkeyclient.Node, error) {
	return b.clients.Node(b.at(target))
}

func (b byPod) Sentinel(target valkeyclient.Target) (valkeyclient.Sentinel, error) {
	return b.clients.Sentinel(b.at(target))
}

func (b byPod) at(target valkeyclient.Target) valkeyclient.Target {
	_, port, err := net.SplitHostPort(target.Address)
	if ip := b.ips[target.Name]; ip != "" && err == nil {
		target.Address = net.JoinHostPort(ip, port)
	}
	return b.encryption[target.Name].On(target)
}

func noServer(now time.Time) topology.Reach {
	return topology.Reach{Class: topology.ReachUnreachable, Text: "no pod with an address", When: now}
}

func target(name string, address topology.Address, password string) valkeyclient.Target {
	of := valkeyclient.Target{Name: name, Address: address.String()}
	if password != "" {
		of.Credentials = valkeyclient.Credentials{Username: naming.UserOperator, Password: password}
	}
	return of
}

// mayAnswer tells whether asking makes sense. A container that is known not to run is not asked: nobody, or somebody else, may have the
// address by now.
func mayAnswer(pod *corev1.Pod, container string) bool {
	if pod == nil || pod.Status.PodIP == "" || pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed {
		return false
	}
	for _, status := range pod.Status.ContainerStatuses {
		if status.Name == container {
			return status.State.Running != nil
		}
	}
	return false
}

// sortByName puts the members and Sentinels into one order, whether they could be asked or not: the first by length, so that -10 comes after -9.
func sortByName(snapshot *topology.Snapshot) {
	slices.SortStableFunc(snapshot.Members, func(a, b topology.Member) int { return byName(a.Name, b.Name) })
	slices.SortStableFunc(snapshot.Sentinels, func(a, b topology.SentinelView) int { return byName(a.Name, b.Name) })
}

func byName(a, b string) int {
	if len(a) != len(b) {
		return len(a) - len(b)
	}
	return cmp.Compare(a, b)
}
