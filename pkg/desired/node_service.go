// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package desired

import (
	corev1 "k8s.io/api/core/v1"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"

	"github.com/valkeykube/valkeykube/pkg/apis/valkey/v1alpha1"
	"github.com/valkeykube/valkeykube/pkg/naming"
)

// NodeService is the node's governing Service. It gives the pod its host name from the moment it has an IP: peers, Sentinels and the
// controller must reach a server that is not ready, to make it so.
func NodeService(node *v1alpha1.ValkeyNode) *corev1ac.ServiceApplyConfiguration {
	return corev1ac.Service(naming.NodeWorkload(node.Name), node.Namespace).
		WithLabels(naming.NodeLabels(node.Spec.Valkey, node.Name)).
		WithOwnerReferences(OwnerReference(KindValkeyNode, node)).
		WithSpec(corev1ac.ServiceSpec().
			WithClusterIP(corev1.ClusterIPNone).
			WithIPFamilyPolicy(corev1.IPFamilyPolicyPreferDualStack).
			WithPublishNotReadyAddresses(true).
			WithSelector(naming.NodeSelector(node.Name)).
			WithPorts(servicePort(naming.PortNameValkey, naming.PortValkey)))
}

// servicePort names the protocol because it is part of the key of the list.
func servicePort(name string, port int32) *corev1ac.ServicePortApplyConfiguration {
	return corev1ac.ServicePort().WithName(name).WithPort(port).WithProtocol(corev1.ProtocolTCP)
}
