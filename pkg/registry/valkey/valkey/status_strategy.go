// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package valkey

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	api "github.com/valkeykube/valkeykube/pkg/apis/valkey"
	"github.com/valkeykube/valkeykube/pkg/registry/valkey/resource"
)

// StatusStrategy decides about writes to a Valkey through its status endpoint, where nothing but the status is written.
type StatusStrategy struct {
	Strategy
}

// NewStatusStrategy makes the strategy. The scheme must know the group.
func NewStatusStrategy(scheme *runtime.Scheme) StatusStrategy {
	return StatusStrategy{NewStrategy(scheme)}
}

var _ resource.WriteStrategy = StatusStrategy{}

// GetResetFields names what a writer of the status does not own.
func (StatusStrategy) GetResetFields() map[fieldpath.APIVersion]*fieldpath.Set {
	return resource.ResetFields("spec", "metadata")
}

// PrepareForUpdate keeps everything but the status.
func (StatusStrategy) PrepareForUpdate(_ context.Context, updated, stored runtime.Object) {
	object, old := updated.(*api.Valkey), stored.(*api.Valkey)
	object.Spec = old.Spec
	metav1.ResetObjectMetaForStatus(object, old)
}

// WarningsOnUpdate is nothing: a status says nothing about its writer's wishes.
func (StatusStrategy) WarningsOnUpdate(context.Context, runtime.Object, runtime.Object) []string {
	return nil
}
