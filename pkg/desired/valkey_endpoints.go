// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package desired

import (
	"strings"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	discoveryv1ac "k8s.io/client-go/applyconfigurations/discovery/v1"

	"github.com/valkeykube/valkeykube/pkg/apis/valkey/v1alpha1"
	"github.com/valkeykube/valkeykube/pkg/naming"
)

// ValkeyPrimaryEndpoints is the only EndpointSlice of the primary's Service. pod is the primary's; nil where there is none, or none that
// may be written to: the slice is empty then, and of the family that it had, which cannot be changed. A pod without an IP of the family counts
// as none. It is ready only while the pod is ready and not on its way out.
func ValkeyPrimaryEndpoints(valkey *v1alpha1.Valkey, pod *corev1.Pod, family discoveryv1.AddressType) *discoveryv1ac.EndpointSliceApplyConfiguration {
	slice := discoveryv1ac.EndpointSlice(naming.PrimaryEndpointSlice(valkey.Name), valkey.Namespace).
		WithLabels(naming.With(naming.ValkeyLabels(valkey.Name), map[string]string{
			discoveryv1.LabelServiceName: naming.PrimaryService(valkey.Name),
			discoveryv1.LabelManagedBy:   naming.ManagedBy,
		})).
		WithOwnerReferences(OwnerReference(KindValkey, valkey)).
		WithAddressType(family).
		WithPorts(discoveryv1ac.EndpointPort().
			WithName(naming.PortNameValkey).WithPort(naming.PortValkey).WithProtocol(corev1.ProtocolTCP))
	if tls := valkey.Spec.Networking.TLS; tls.IsOn() {
		slice.WithPorts(discoveryv1ac.EndpointPort().
			WithName(naming.PortNameValkeyTLS).WithPort(encryptedPort(tls)).WithProtocol(corev1.ProtocolTCP))
	}
	address := addressOf(pod, family)
	if address == "" {
		return slice
	}
	ready, leaving := IsPodReady(pod), pod.DeletionTimestamp != nil
	endpoint := discoveryv1ac.Endpoint().
		WithAddresses(address).
		WithConditions(discoveryv1ac.EndpointConditions().
			WithReady(ready && !leaving).WithServing(ready).WithTerminating(leaving)).
		WithTargetRef(corev1ac.ObjectReference().
			WithKind("Pod").WithNamespace(pod.Namespace).WithName(pod.Name).WithUID(pod.UID))
	if pod.Spec.NodeName != "" {
		endpoint.WithNodeName(pod.Spec.NodeName)
	}
	return slice.WithEndpoints(endpoint)
}

// RouteFamily is the family of the way to a pod with an IP: that of the Service, where it is known and the pod has an address of it, or else of
// the pod's first address. In a cluster with both families the Service may have the other one than that.
func RouteFamily(service *corev1.Service, pod *corev1.Pod) discoveryv1.AddressType {
	if service != nil && len(service.Spec.IPFamilies) > 0 {
		if family := discoveryv1.AddressType(service.Spec.IPFamilies[0]); addressOf(pod, family) != "" {
			return family
		}
	}
	return familyOf(pod.Status.PodIP)
}

// PodIPs are all addresses of a pod, of each family; none before it has one.
func PodIPs(pod *corev1.Pod) []string {
	if pod.Status.PodIP == "" {
		return nil
	}
	ips := []string{pod.Status.PodIP}
	for _, other := range pod.Status.PodIPs {
		if other.IP != pod.Status.PodIP {
			ips = append(ips, other.IP)
		}
	}
	return ips
}

// addressOf is a pod's address of a family; empty where it has none.
func addressOf(pod *corev1.Pod, family discoveryv1.AddressType) string {
	if pod == nil {
		return ""
	}
	for _, ip := range PodIPs(pod) {
		if familyOf(ip) == family {
			return ip
		}
	}
	return ""
}

func familyOf(ip string) discoveryv1.AddressType {
	if strings.Contains(ip, ":") {
		return discoveryv1.AddressTypeIPv6
	}
	return discoveryv1.AddressTypeIPv4
}

// IsPodReady tells whether the kubelet holds the pod for ready.
func IsPodReady(pod *corev1.Pod) bool {
	for _, condition := range pod.Status.Conditions {
		if condition.Type == corev1.PodReady {
			return condition.Status == corev1.ConditionTrue
		}
	}
	return false
}

// PodRole is the part of a pod that carries its role: one label. Without a role the label goes. The uid keeps a pod that was replaced
// meanwhile from being labelled, and one that is gone from being made.
func PodRole(pod *corev1.Pod, role v1alpha1.Role) *corev1ac.PodApplyConfiguration {
	labelled := corev1ac.Pod(pod.Name, pod.Namespace).WithUID(pod.UID)
	if role == v1alpha1.RolePrimary || role == v1alpha1.RoleReplica {
		labelled.WithLabels(map[string]string{naming.LabelRole: string(role)})
	}
	return labelled
}
