// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package desired

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	metav1ac "k8s.io/client-go/applyconfigurations/meta/v1"

	"github.com/valkeykube/valkeykube/pkg/apis/valkey/v1alpha1"
)

// Kinds of our own, as owners.
const (
	KindValkey         = "Valkey"
	KindValkeySentinel = "ValkeySentinel"
	KindValkeyNode     = "ValkeyNode"
)

// OwnerReference makes owner, one of our kinds, the controller of a child. It does not block the owner's deletion: a child that lingers
// must never keep a namespace from going, and blocking would need a right on the owner's finalizers.
func OwnerReference(kind string, owner metav1.Object) *metav1ac.OwnerReferenceApplyConfiguration {
	return metav1ac.OwnerReference().
		WithAPIVersion(v1alpha1.SchemeGroupVersion.String()).
		WithKind(kind).
		WithName(owner.GetName()).
		WithUID(owner.GetUID()).
		WithController(true).
		WithBlockOwnerDeletion(false)
}

// IsOwnedBy tells whether a live child is ours to change: its controller is the owner with this uid. An object without a controller, or
// with another one, belongs to somebody else even where its name is one of ours.
func IsOwnedBy(child, owner metav1.Object) bool {
	controller := metav1.GetControllerOf(child)
	if controller == nil || controller.UID != owner.GetUID() {
		return false
	}
	group, err := schema.ParseGroupVersion(controller.APIVersion)
	return err == nil && group.Group == v1alpha1.GroupName
}
