// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package desired

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"

	"github.com/valkeykube/valkeykube/pkg/apis/valkey/v1alpha1"
	"github.com/valkeykube/valkeykube/pkg/naming"
)

// NodeClaim is the node's PersistentVolumeClaim, or nil without persistence. live is the existing one, nil for none: it is grown, never
// shrunk, and what cannot be changed stays as it is. The claim belongs to the node only with reclaimPolicy Delete; else it outlives it.
func NodeClaim(node *v1alpha1.ValkeyNode, live *corev1.PersistentVolumeClaim) *corev1ac.PersistentVolumeClaimApplyConfiguration {
	persistence := node.Spec.Persistence
	if persistence == nil {
		return nil
	}
	size, class, modes := persistence.Capacity, persistence.StorageClassName, []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce}
	if live != nil {
		if request := live.Spec.Resources.Requests[corev1.ResourceStorage]; request.Cmp(size) > 0 {
			size = request
		}
		class, modes = appliedClass(live), live.Spec.AccessModes
	}
	spec := corev1ac.PersistentVolumeClaimSpec().
		WithAccessModes(modes...).
		WithResources(corev1ac.VolumeResourceRequirements().WithRequests(corev1.ResourceList{corev1.ResourceStorage: size}))
	if class != nil {
		spec.WithStorageClassName(*class)
	}
	claim := corev1ac.PersistentVolumeClaim(naming.NodeClaim(node.Name), node.Namespace).
		WithLabels(naming.NodeLabels(node.Spec.Valkey, node.Name)).
		WithSpec(spec)
	if persistence.ReclaimPolicy == v1alpha1.ReclaimDelete {
		claim.WithOwnerReferences(OwnerReference(KindValkeyNode, node))
	}
	return claim
}

// appliedClass is the storage class that we asked for when the claim was made. A class that the cluster chose is not ours to own, and one
// that was ours cannot be given up: either would be a refused change.
func appliedClass(live *corev1.PersistentVolumeClaim) *string {
	ours, err := corev1ac.ExtractPersistentVolumeClaim(live, naming.FieldManager)
	if err != nil || ours.Spec == nil {
		return nil
	}
	return ours.Spec.StorageClassName
}

// IsNodeClaim tells whether a live claim is the node's to use and change: one that nobody controls and that carries the node's labels, as an
// earlier node of the same name leaves it behind, or one that the node controls. A person hands a claim over by labelling it.
func IsNodeClaim(claim *corev1.PersistentVolumeClaim, node *v1alpha1.ValkeyNode) bool {
	if metav1.GetControllerOf(claim) != nil {
		return IsOwnedBy(claim, node)
	}
	return claim.Labels[naming.LabelManagedBy] == naming.ManagedBy && claim.Labels[naming.LabelNode] == node.Name
}
