// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package desired

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	metav1ac "k8s.io/client-go/applyconfigurations/meta/v1"
	networkingv1ac "k8s.io/client-go/applyconfigurations/networking/v1"

	"github.com/valkeykube/valkeykube/pkg/apis/valkey/v1alpha1"
	"github.com/valkeykube/valkeykube/pkg/naming"
)

// The policies are about incoming connections alone, and each holds everything that an object of ours needs: from the moment it is there
// nobody of ours is kept out. What they select is selected by labels that never change, and not by who monitors whom, so that none has to
// be rewritten before a failover, a scale-out or another set of Sentinels can do its work. docs/networkpolicy.md has the list of who
// connects to whom.

// ValkeyNetworkPolicy lets into the pods of a Valkey its clients and what the product needs; nil where the spec does not ask for it. The
// installation is in systemNamespace.
func ValkeyNetworkPolicy(valkey *v1alpha1.Valkey, systemNamespace string) *networkingv1ac.NetworkPolicyApplyConfiguration {
	wanted := valkey.Spec.Networking.NetworkPolicy
	if wanted == nil || !wanted.Enabled {
		return nil
	}
	own := podsOf(naming.ValkeySelector(valkey.Name))
	servers := openPorts(valkey.Spec.Networking.TLS, naming.PortValkey, naming.PortValkeyTLS)
	all := append(slices.Clone(servers), naming.PortAgent)
	spec := policyFor(naming.ValkeySelector(valkey.Name)).WithIngress(
		ingress(servers, clientPeers(wanted.Clients)...),
		// Replicas, the agents that compare who has which data, and the one that hands over.
		ingress(all, own),
		// Every Sentinel of the namespace, not only those of the set that monitors: another set may take over at any time, and the old one
		// must reach the servers until it has let go.
		ingress(all, allSentinels()),
		ingress(servers, installation(systemNamespace, naming.APIServerName, naming.ControllerName)),
		// What is mounted, and why a server is not ready.
		ingress([]int32{naming.PortAgent}, installation(systemNamespace, naming.ControllerName)))
	if valkey.Spec.Exporter.Enabled {
		spec.WithIngress(ingress([]int32{naming.PortExporter}, allNamespaces()))
	}
	return networkingv1ac.NetworkPolicy(naming.ValkeyNetworkPolicy(valkey.Name), valkey.Namespace).
		WithLabels(naming.ValkeyLabels(valkey.Name)).
		WithOwnerReferences(OwnerReference(KindValkey, valkey)).
		WithSpec(spec)
}

// SentinelNetworkPolicy is the same for the pods of a ValkeySentinel.
func SentinelNetworkPolicy(set *v1alpha1.ValkeySentinel, systemNamespace string) *networkingv1ac.NetworkPolicyApplyConfiguration {
	wanted := set.Spec.Networking.NetworkPolicy
	if wanted == nil || !wanted.Enabled {
		return nil
	}
	sentinels := openPorts(set.Spec.Networking.TLS, naming.PortSentinel, naming.PortSentinelTLS)
	all := append(slices.Clone(sentinels), naming.PortAgent)
	spec := policyFor(naming.SentinelSelector(set.Name)).WithIngress(
		ingress(sentinels, clientPeers(wanted.Clients)...),
		// The Sentinels vote, and their agents compare what each knows.
		ingress(all, podsOf(naming.SentinelSelector(set.Name))),
		// The agents of every Valkey of the namespace: the selector is about labels of Valkeys, which their pods do not have.
		ingress(all, allServers()),
		ingress(sentinels, installation(systemNamespace, naming.APIServerName, naming.ControllerName)))
	if set.Spec.Exporter.Enabled {
		spec.WithIngress(ingress([]int32{naming.PortExporter}, allNamespaces()))
	}
	return networkingv1ac.NetworkPolicy(naming.SentinelWorkload(set.Name), set.Namespace).
		WithLabels(naming.SentinelLabels(set.Name)).
		WithOwnerReferences(OwnerReference(KindValkeySentinel, set)).
		WithSpec(spec)
}

// openPorts are where a process listens: the usual port, and that of TLS beside plaintext. It is open at all times, or a roll that turns
// TLS on or off would cut off those who are ahead or behind.
func openPorts(tls *v1alpha1.TLSSpec, usual, encrypted int32) []int32 {
	return []int32{usual, tls.PortBeside(encrypted, usual)}
}

func policyFor(pods map[string]string) *networkingv1ac.NetworkPolicySpecApplyConfiguration {
	return networkingv1ac.NetworkPolicySpec().
		WithPodSelector(metav1ac.LabelSelector().WithMatchLabels(pods)).
		WithPolicyTypes(networkingv1.PolicyTypeIngress)
}

func ingress(ports []int32, from ...*networkingv1ac.NetworkPolicyPeerApplyConfiguration) *networkingv1ac.NetworkPolicyIngressRuleApplyConfiguration {
	rule := networkingv1ac.NetworkPolicyIngressRule().WithFrom(from...)
	for _, port := range ports {
		// The number and not the name: a name counts only for the containers that declare it, and a sidecar could take it.
		rule.WithPorts(networkingv1ac.NetworkPolicyPort().WithProtocol(corev1.ProtocolTCP).WithPort(intstr.FromInt32(port)))
	}
	return rule
}

// clientPeers are those that the spec names, and every pod of the namespace where it names none.
func clientPeers(clients []v1alpha1.NetworkPolicyPeer) []*networkingv1ac.NetworkPolicyPeerApplyConfiguration {
	if len(clients) == 0 {
		clients = []v1alpha1.NetworkPolicyPeer{{}}
	}
	var peers []*networkingv1ac.NetworkPolicyPeerApplyConfiguration
	for _, client := range clients {
		// A peer without a namespace selector is one of this namespace; one with an empty selector would be of any.
		peer := podsOf(client.PodLabels)
		if len(client.NamespaceLabels) > 0 {
			peer.WithNamespaceSelector(metav1ac.LabelSelector().WithMatchLabels(client.NamespaceLabels))
		}
		peers = append(peers, peer)
	}
	return peers
}

// podsOf are pods of the namespace; without labels all of them.
func podsOf(labels map[string]string) *networkingv1ac.NetworkPolicyPeerApplyConfiguration {
	return networkingv1ac.NetworkPolicyPeer().WithPodSelector(metav1ac.LabelSelector().WithMatchLabels(labels))
}

func allSentinels() *networkingv1ac.NetworkPolicyPeerApplyConfiguration {
	return podsOf(map[string]string{naming.LabelManagedBy: naming.ManagedBy, naming.LabelComponent: naming.ComponentSentinel})
}

func allServers() *networkingv1ac.NetworkPolicyPeerApplyConfiguration {
	return podsOf(map[string]string{naming.LabelManagedBy: naming.ManagedBy, naming.LabelComponent: naming.ComponentServer})
}

// installation is parts of the product, by the name that Kubernetes itself gives their namespace as a label.
func installation(namespace string, names ...string) *networkingv1ac.NetworkPolicyPeerApplyConfiguration {
	return networkingv1ac.NetworkPolicyPeer().
		WithNamespaceSelector(metav1ac.LabelSelector().WithMatchLabels(map[string]string{corev1.LabelMetadataName: namespace})).
		WithPodSelector(metav1ac.LabelSelector().WithMatchExpressions(metav1ac.LabelSelectorRequirement().
			WithKey(naming.LabelName).WithOperator(metav1.LabelSelectorOpIn).WithValues(names...)))
}

// allNamespaces are all pods of the cluster: whoever scrapes is seldom where the Valkeys are.
func allNamespaces() *networkingv1ac.NetworkPolicyPeerApplyConfiguration {
	return networkingv1ac.NetworkPolicyPeer().WithNamespaceSelector(metav1ac.LabelSelector())
}
