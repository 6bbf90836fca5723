// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package desired

import (
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	metav1ac "k8s.io/client-go/applyconfigurations/meta/v1"
	policyv1ac "k8s.io/client-go/applyconfigurations/policy/v1"
	rbacv1ac "k8s.io/client-go/applyconfigurations/rbac/v1"

	"github.com/valkeykube/valkeykube/pkg/apis/valkey/v1alpha1"
	"github.com/valkeykube/valkeykube/pkg/boot"
	"github.com/valkeykube/valkeykube/pkg/naming"
)

// SentinelService is the headless Service that gives each Sentinel its host name, from the moment its pod has an IP: peers and the
// controller must reach a Sentinel that is not ready, to make it so.
func SentinelService(set *v1alpha1.ValkeySentinel) *corev1ac.ServiceApplyConfiguration {
	return corev1ac.Service(naming.SentinelWorkload(set.Name), set.Namespace).
		WithLabels(naming.SentinelLabels(set.Name)).
		WithOwnerReferences(OwnerReference(KindValkeySentinel, set)).
		WithSpec(corev1ac.ServiceSpec().
			WithClusterIP(corev1.ClusterIPNone).
			WithIPFamilyPolicy(corev1.IPFamilyPolicyPreferDualStack).
			WithPublishNotReadyAddresses(true).
			WithSelector(naming.SentinelSelector(set.Name)).
			WithPorts(servicePort(naming.PortNameSentinel, naming.PortSentinel)).
			WithPorts(sentinelTLSPort(set.Spec.Networking.TLS)...))
}

// SentinelBudget limits evictions to what leaves the others able to agree on a failover and to authorise it: needed is how many that takes.
// One may always go, and an unhealthy one at any time, or no node could ever be drained. Nil when no budget is wanted.
func SentinelBudget(set *v1alpha1.ValkeySentinel, size, needed int) *policyv1ac.PodDisruptionBudgetApplyConfiguration {
	if set.Spec.PodDisruptionBudget.Mode == v1alpha1.PodDisruptionBudgetDisabled {
		return nil
	}
	unavailable := intstr.FromInt32(int32(max(1, size-needed))) //nolint:gosec // bounded by validation
	if asked := set.Spec.PodDisruptionBudget.MaxUnavailable; asked != nil {
		unavailable = *asked
	}
	return policyv1ac.PodDisruptionBudget(naming.SentinelWorkload(set.Name), set.Namespace).
		WithLabels(naming.SentinelLabels(set.Name)).
		WithOwnerReferences(OwnerReference(KindValkeySentinel, set)).
		WithSpec(policyv1ac.PodDisruptionBudgetSpec().
			WithMaxUnavailable(unavailable).
			WithUnhealthyPodEvictionPolicy(policyv1.AlwaysAllow).
			WithSelector(metav1ac.LabelSelector().WithMatchLabels(naming.SentinelSelector(set.Name))))
}

// SentinelBootSecret holds what the agents of the Sentinels must know, passwords among it, and the Sentinels' ACL file.
func SentinelBootSecret(set *v1alpha1.ValkeySentinel, settings boot.Sentinel, acl string) (*corev1ac.SecretApplyConfiguration, error) {
	text, err := boot.Encode(settings)
	if err != nil {
		return nil, err
	}
	return corev1ac.Secret(naming.SentinelBootSecret(set.Name), set.Namespace).
		WithLabels(naming.SentinelLabels(set.Name)).
		WithOwnerReferences(OwnerReference(KindValkeySentinel, set)).
		WithType(corev1.SecretTypeOpaque).
		WithData(map[string][]byte{naming.KeyBoot: []byte(text), naming.KeyACL: []byte(acl)}), nil
}

// SentinelRole lets its holder read the system passwords of this set and nothing else.
func SentinelRole(set *v1alpha1.ValkeySentinel) *rbacv1ac.RoleApplyConfiguration {
	return rbacv1ac.Role(naming.SentinelAPIServerRole(set.Name), set.Namespace).
		WithLabels(naming.SentinelLabels(set.Name)).
		WithOwnerReferences(OwnerReference(KindValkeySentinel, set)).
		WithRules(rbacv1ac.PolicyRule().
			WithAPIGroups(corev1.GroupName).
			WithResources("secrets").
			WithResourceNames(readable(naming.SentinelPasswordsSecret(set.Name), set.Spec.Networking.TLS)...).
			WithVerbs("get"))
}

// SentinelRoleBinding gives SentinelRole to the API server, which runs in systemNamespace: its live subresources log in to the Sentinels.
func SentinelRoleBinding(set *v1alpha1.ValkeySentinel, systemNamespace string) *rbacv1ac.RoleBindingApplyConfiguration {
	return rbacv1ac.RoleBinding(naming.SentinelAPIServerRole(set.Name), set.Namespace).
		WithLabels(naming.SentinelLabels(set.Name)).
		WithOwnerReferences(OwnerReference(KindValkeySentinel, set)).
		WithSubjects(rbacv1ac.Subject().
			WithKind(rbacv1.ServiceAccountKind).
			WithNamespace(systemNamespace).
			WithName(naming.APIServerServiceAccount)).
		WithRoleRef(rbacv1ac.RoleRef().
			WithAPIGroup(rbacv1.GroupName).
			WithKind("Role").
			WithName(naming.SentinelAPIServerRole(set.Name)))
}
