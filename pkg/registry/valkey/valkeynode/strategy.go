// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package valkeynode

import (
	"context"

	apiequality "k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	api "github.com/valkeykube/valkeykube/pkg/apis/valkey"
	"github.com/valkeykube/valkeykube/pkg/apis/valkey/v1alpha1"
	"github.com/valkeykube/valkeykube/pkg/naming"
	"github.com/valkeykube/valkeykube/pkg/registry/valkey/resource"
)

// Strategy decides about writes to a ValkeyNode through its main endpoint, where the status is not written.
type Strategy struct {
	resource.Strategy
}

// NewStrategy makes the strategy. The scheme must know the group.
func NewStrategy(scheme *runtime.Scheme) Strategy {
	return Strategy{resource.NewStrategy(scheme)}
}

var _ resource.WriteStrategy = Strategy{}

// GetResetFields names what a writer of the main endpoint does not own.
func (Strategy) GetResetFields() map[fieldpath.APIVersion]*fieldpath.Set {
	return resource.ResetFields("status")
}

// PrepareForCreate drops the status and starts the generation.
func (Strategy) PrepareForCreate(_ context.Context, created runtime.Object) {
	object := created.(*api.ValkeyNode)
	object.Status = api.ValkeyNodeStatus{}
	object.Generation = 1
}

// PrepareForUpdate keeps the status, and counts the generation when the spec has changed.
func (Strategy) PrepareForUpdate(_ context.Context, updated, stored runtime.Object) {
	object, old := updated.(*api.ValkeyNode), stored.(*api.ValkeyNode)
	object.Status = old.Status
	if !apiequality.Semantic.DeepEqual(object.Spec, old.Spec) {
		object.Generation = old.Generation + 1
	}
}

// Validate checks the name. The rules on fields are declared at the served type.
func (Strategy) Validate(_ context.Context, created runtime.Object) field.ErrorList {
	return resource.NameErrors(created.(*api.ValkeyNode).Name, naming.MaxValkeyNodeName)
}

// ValidateUpdate has nothing to add to the declared rules.
func (Strategy) ValidateUpdate(context.Context, runtime.Object, runtime.Object) field.ErrorList {
	return nil
}

// WarningsOnCreate is what is accepted and has no effect, or is unwise.
func (Strategy) WarningsOnCreate(_ context.Context, created runtime.Object) []string {
	return warnings(created.(*api.ValkeyNode))
}

// WarningsOnUpdate warns about a spec that has changed.
func (Strategy) WarningsOnUpdate(_ context.Context, updated, stored runtime.Object) []string {
	object := updated.(*api.ValkeyNode)
	if object.Generation == stored.(*api.ValkeyNode).Generation {
		return nil
	}
	return warnings(object)
}

func warnings(object *api.ValkeyNode) []string {
	var versioned v1alpha1.ValkeyNode
	if err := v1alpha1.Convert_valkey_ValkeyNode_To_v1alpha1_ValkeyNode(object, &versioned, nil); err != nil {
		return nil
	}
	return v1alpha1.ValkeyNodeWarnings(&versioned)
}
