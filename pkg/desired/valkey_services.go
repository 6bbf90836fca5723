// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package desired

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"

	"github.com/valkeykube/valkeykube/pkg/apis/valkey/v1alpha1"
	"github.com/valkeykube/valkeykube/pkg/naming"
)

// ValkeyService is the headless Service over all ready members of a Valkey.
func ValkeyService(valkey *v1alpha1.Valkey) *corev1ac.ServiceApplyConfiguration {
	service := valkeyServiceOf(valkey, naming.ValkeyService(valkey.Name))
	service.Spec.WithClusterIP(corev1.ClusterIPNone).WithSelector(naming.ValkeySelector(valkey.Name))
	return service
}

// ValkeyPrimaryService leads to the primary. It has no selector: its only EndpointSlice is ValkeyPrimaryEndpoints, so that a change of
// the primary is one write and there are never two primaries behind it. An EndpointSlice is of one address family, and so the Service is too:
// an address of the other one would lead nowhere.
func ValkeyPrimaryService(valkey *v1alpha1.Valkey) *corev1ac.ServiceApplyConfiguration {
	service := valkeyServiceOf(valkey, naming.PrimaryService(valkey.Name))
	service.Spec.WithIPFamilyPolicy(corev1.IPFamilyPolicySingleStack)
	return service
}

// ValkeyReplicasService leads to the ready replicas. Without any it leads nowhere: reads from the primary are asked for by its own name.
func ValkeyReplicasService(valkey *v1alpha1.Valkey) *corev1ac.ServiceApplyConfiguration {
	service := valkeyServiceOf(valkey, naming.ReplicasService(valkey.Name))
	service.Spec.WithSelector(naming.With(naming.ValkeySelector(valkey.Name), map[string]string{
		naming.LabelRole: string(v1alpha1.RoleReplica),
	}))
	return service
}

func valkeyServiceOf(valkey *v1alpha1.Valkey, name string) *corev1ac.ServiceApplyConfiguration {
	return corev1ac.Service(name, valkey.Namespace).
		WithLabels(naming.ValkeyLabels(valkey.Name)).
		WithOwnerReferences(OwnerReference(KindValkey, valkey)).
		WithSpec(corev1ac.ServiceSpec().
			WithIPFamilyPolicy(corev1.IPFamilyPolicyPreferDualStack).
			WithPorts(servicePort(naming.PortNameValkey, naming.PortValkey).
				WithTargetPort(intstr.FromInt32(naming.PortValkey))).
			WithPorts(valkeyTLSPort(valkey.Spec.Networking.TLS)...))
}
