// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package desired

import (
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	appsv1ac "k8s.io/client-go/applyconfigurations/apps/v1"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	discoveryv1ac "k8s.io/client-go/applyconfigurations/discovery/v1"
	networkingv1ac "k8s.io/client-go/applyconfigurations/networking/v1"
	policyv1ac "k8s.io/client-go/applyconfigurations/policy/v1"
	rbacv1ac "k8s.io/client-go/applyconfigurations/rbac/v1"

	"github.com/valkeykube/valkeykube/pkg/apis/valkey/v1alpha1"
	valkeyv1alpha1ac "github.com/valkeykube/valkeykube/pkg/generated/applyconfiguration/valkey/v1alpha1"
	"github.com/valkeykube/valkeykube/pkg/naming"
)

// IsApplied tells whether applying want once more, as naming.FieldManager, would change nothing: what that manager owns in the live object
// equals want. It reads the live object's managedFields, so a cache that strips them must keep our manager's entry. Fields that somebody
// else owns do not count; a field of ours that somebody else has overwritten does.
// Of a kind that is not compiled in, everything that is wanted is compared, whoever owns it.
// It fails for a kind that the product does not make.
func IsApplied(live runtime.Object, want runtime.ApplyConfiguration) (bool, error) {
	if foreign, is := want.(Foreign); is {
		found, same := live.(*unstructured.Unstructured)
		return same && Holds(found.Object, foreign.Object), nil
	}
	ours, err := extracted(live)
	if err != nil {
		return false, err
	}
	return apiequality.Semantic.DeepEqual(ours, want), nil
}

// extracted is what naming.FieldManager has applied to the live object.
func extracted(live runtime.Object) (runtime.ApplyConfiguration, error) {
	const manager = naming.FieldManager
	switch object := live.(type) {
	case *appsv1.StatefulSet:
		return appsv1ac.ExtractStatefulSet(object, manager)
	case *appsv1.Deployment:
		return appsv1ac.ExtractDeployment(object, manager)
	case *corev1.Service:
		return corev1ac.ExtractService(object, manager)
	case *corev1.ConfigMap:
		return corev1ac.ExtractConfigMap(object, manager)
	case *corev1.Secret:
		return corev1ac.ExtractSecret(object, manager)
	case *corev1.Pod:
		return corev1ac.ExtractPod(object, manager)
	case *corev1.PersistentVolumeClaim:
		return corev1ac.ExtractPersistentVolumeClaim(object, manager)
	case *policyv1.PodDisruptionBudget:
		return policyv1ac.ExtractPodDisruptionBudget(object, manager)
	case *networkingv1.NetworkPolicy:
		return networkingv1ac.ExtractNetworkPolicy(object, manager)
	case *discoveryv1.EndpointSlice:
		return discoveryv1ac.ExtractEndpointSlice(object, manager)
	case *rbacv1.Role:
		return rbacv1ac.ExtractRole(object, manager)
	case *rbacv1.RoleBinding:
		return rbacv1ac.ExtractRoleBinding(object, manager)
	case *v1alpha1.ValkeyNode:
		return valkeyv1alpha1ac.ExtractValkeyNode(object, manager)
	}
	return nil, fmt.Errorf("the product makes no %T", live)
}
