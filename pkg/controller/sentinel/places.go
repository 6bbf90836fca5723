// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package sentinel

import (
	"net"
	"strconv"

	corev1 "k8s.io/api/core/v1"

	"github.com/valkeykube/valkeykube/pkg/boot"
	"github.com/valkeykube/valkeykube/pkg/naming"
)

// places says where processes are: what Sentinels are told, and what the controller itself dials.
type places interface {
	// Node is where a node is for Sentinels and peers: its host name.
	Node(namespace, node string) boot.Endpoint
	// DialNode and DialSentinel are where the process in a pod is dialed; empty while the pod has no address.
	DialNode(pod *corev1.Pod) string
	DialSentinel(pod *corev1.Pod) string
}

// clusterPlaces are those of a cluster. The controller dials pods by their address, so that it works while the cluster's DNS does not.
type clusterPlaces struct{ domain string }

func (p clusterPlaces) Node(namespace, node string) boot.Endpoint {
	return boot.Endpoint{Name: node, Host: naming.NodeHost(node, namespace, p.domain), Port: naming.PortValkey}
}

func (clusterPlaces) DialNode(pod *corev1.Pod) string { return dial(pod, naming.PortValkey) }

func (clusterPlaces) DialSentinel(pod *corev1.Pod) string { return dial(pod, naming.PortSentinel) }

func dial(pod *corev1.Pod, port int) string {
	if pod.Status.PodIP == "" || pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed {
		return ""
	}
	return net.JoinHostPort(pod.Status.PodIP, strconv.Itoa(port))
}
