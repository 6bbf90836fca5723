// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package desired

import (
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	rbacv1ac "k8s.io/client-go/applyconfigurations/rbac/v1"

	"github.com/valkeykube/valkeykube/pkg/apis/valkey/v1alpha1"
	"github.com/valkeykube/valkeykube/pkg/naming"
)

// ValkeyAccessRole lets its holder read the system passwords and the certificate of this Valkey and nothing else: the API server has no other right on Secrets.
func ValkeyAccessRole(valkey *v1alpha1.Valkey) *rbacv1ac.RoleApplyConfiguration {
	return rbacv1ac.Role(naming.APIServerRole(valkey.Name), valkey.Namespace).
		WithLabels(naming.ValkeyLabels(valkey.Name)).
		WithOwnerReferences(OwnerReference(KindValkey, valkey)).
		WithRules(rbacv1ac.PolicyRule().
			WithAPIGroups(corev1.GroupName).
			WithResources("secrets").
			WithResourceNames(readable(naming.SystemPasswordsSecret(valkey.Name), valkey.Spec.Networking.TLS)...).
			WithVerbs("get"))
}

// readable are the Secrets with which the API server logs in, and by which it knows whom to believe.
func readable(passwords string, tls *v1alpha1.TLSSpec) []string {
	if !tls.IsOn() {
		return []string{passwords}
	}
	return []string{passwords, tls.SecretName}
}

// ValkeyAccessBinding gives ValkeyAccessRole to the API server, which runs in systemNamespace.
func ValkeyAccessBinding(valkey *v1alpha1.Valkey, systemNamespace string) *rbacv1ac.RoleBindingApplyConfiguration {
	name := naming.APIServerRole(valkey.Name)
	return rbacv1ac.RoleBinding(name, valkey.Namespace).
		WithLabels(naming.ValkeyLabels(valkey.Name)).
		WithOwnerReferences(OwnerReference(KindValkey, valkey)).
		WithRoleRef(rbacv1ac.RoleRef().WithAPIGroup(rbacv1.GroupName).WithKind("Role").WithName(name)).
		WithSubjects(rbacv1ac.Subject().
			WithKind(rbacv1.ServiceAccountKind).WithName(naming.APIServerServiceAccount).WithNamespace(systemNamespace))
}
