// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package resource

import (
	"context"
	"maps"

	apiequality "k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apiserver/pkg/registry/rest"
	"k8s.io/apiserver/pkg/storage/names"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/valkeykube/valkeykube/pkg/apis/valkey/v1alpha1"
)

// Strategy decides about writes through the main endpoint of a kind, where the status is not written. The rules on fields are
// declared at the served types and run by DeclarativeValidation; the strategy adds only what those cannot know.
type Strategy[O Object, S, T any] struct {
	rest.DeclarativeValidation
	names.NameGenerator
	kind Kind[O, S, T]
}

// StatusStrategy decides about writes through the status endpoint of a kind, where nothing but the status is written.
type StatusStrategy[O Object, S, T any] struct {
	Strategy[O, S, T]
}

// NewStrategy makes the strategy of a kind's main endpoint. The scheme must know the group.
func NewStrategy[O Object, S, T any](scheme *runtime.Scheme, kind Kind[O, S, T]) Strategy[O, S, T] {
	return Strategy[O, S, T]{rest.DeclarativeValidation{Scheme: scheme}, drawnNames{kind.LongestName}, kind}
}

var (
	_ WriteStrategy                        = Strategy[Object, any, any]{}
	_ WriteStrategy                        = StatusStrategy[Object, any, any]{}
	_ rest.GarbageCollectionDeleteStrategy = Strategy[Object, any, any]{}
)

// NamespaceScoped is true: every kind lives in a namespace.
func (Strategy[O, S, T]) NamespaceScoped() bool { return true }

// AllowCreateOnUpdate is false: objects are created by POST, or by server-side apply.
func (Strategy[O, S, T]) AllowCreateOnUpdate(context.Context) bool { return false }

// AllowUnconditionalUpdate is true: an update without a resourceVersion replaces whatever is there.
func (Strategy[O, S, T]) AllowUnconditionalUpdate(context.Context) bool { return true }

// Canonicalize changes nothing.
func (Strategy[O, S, T]) Canonicalize(runtime.Object) {}

// DefaultGarbageCollectionPolicy deletes what an object owns in the background.
func (Strategy[O, S, T]) DefaultGarbageCollectionPolicy(context.Context) rest.GarbageCollectionPolicy {
	return rest.DeleteDependents
}

// GetResetFields names what a writer of the main endpoint does not own.
func (Strategy[O, S, T]) GetResetFields() map[fieldpath.APIVersion]*fieldpath.Set {
	return resetFields("status")
}

// PrepareForCreate drops the status and starts the generation.
func (s Strategy[O, S, T]) PrepareForCreate(_ context.Context, created runtime.Object) {
	object := created.(O)
	_, status := s.kind.Parts(object)
	var none T
	*status = none
	object.SetGeneration(1)
}

// PrepareForUpdate keeps the status, and counts the generation when the spec has changed.
func (s Strategy[O, S, T]) PrepareForUpdate(_ context.Context, updated, stored runtime.Object) {
	object, old := updated.(O), stored.(O)
	spec, status := s.kind.Parts(object)
	oldSpec, oldStatus := s.kind.Parts(old)
	*status = *oldStatus
	if !apiequality.Semantic.DeepEqual(*spec, *oldSpec) {
		object.SetGeneration(old.GetGeneration() + 1)
	}
}

// Validate checks the name, and what other objects have against this one.
func (s Strategy[O, S, T]) Validate(ctx context.Context, created runtime.Object) field.ErrorList {
	object := created.(O)
	errs := nameErrors(object.GetName(), s.kind.LongestName)
	if s.kind.Conflicts != nil {
		var none O
		errs = append(errs, s.kind.Conflicts(ctx, object, none)...)
	}
	return errs
}

// ValidateUpdate checks what other objects have against this one.
func (s Strategy[O, S, T]) ValidateUpdate(ctx context.Context, updated, stored runtime.Object) field.ErrorList {
	if s.kind.Conflicts == nil {
		return nil
	}
	return s.kind.Conflicts(ctx, updated.(O), stored.(O))
}

// WarningsOnCreate is what is accepted and has no effect, or is unwise.
func (s Strategy[O, S, T]) WarningsOnCreate(ctx context.Context, created runtime.Object) []string {
	object := created.(O)
	warnings := s.kind.Warnings(object)
	if s.kind.Neighbours != nil {
		var none O
		warnings = append(warnings, s.kind.Neighbours(ctx, object, none)...)
	}
	return warnings
}

// WarningsOnUpdate warns about a spec that has changed, and about neighbours when the labels have.
func (s Strategy[O, S, T]) WarningsOnUpdate(ctx context.Context, updated, stored runtime.Object) []string {
	object, old := updated.(O), stored.(O)
	specChanged := object.GetGeneration() != old.GetGeneration()
	var warnings []string
	if specChanged {
		warnings = s.kind.Warnings(object)
	}
	if s.kind.Neighbours != nil && (specChanged || !maps.Equal(object.GetLabels(), old.GetLabels())) {
		warnings = append(warnings, s.kind.Neighbours(ctx, object, old)...)
	}
	return warnings
}

// GetResetFields names what a writer of the status does not own.
func (StatusStrategy[O, S, T]) GetResetFields() map[fieldpath.APIVersion]*fieldpath.Set {
	return resetFields("spec", "metadata")
}

// PrepareForUpdate keeps everything but the status.
func (s StatusStrategy[O, S, T]) PrepareForUpdate(_ context.Context, updated, stored runtime.Object) {
	object, old := updated.(O), stored.(O)
	spec, _ := s.kind.Parts(object)
	oldSpec, _ := s.kind.Parts(old)
	*spec = *oldSpec
	metav1.ResetObjectMetaForStatus(object, old)
}

// ValidateUpdate has nothing to add to the declared rules.
func (StatusStrategy[O, S, T]) ValidateUpdate(context.Context, runtime.Object, runtime.Object) field.ErrorList {
	return nil
}

// WarningsOnUpdate is nothing: a status says nothing about its writer's wishes.
func (StatusStrategy[O, S, T]) WarningsOnUpdate(context.Context, runtime.Object, runtime.Object) []string {
	return nil
}

// resetFields are the parts of an object that a writer through an endpoint does not own, whatever it sends.
func resetFields(paths ...string) map[fieldpath.APIVersion]*fieldpath.Set {
	set := fieldpath.NewSet()
	for _, path := range paths {
		set.Insert(fieldpath.MakePathOrDie(path))
	}
	return map[fieldpath.APIVersion]*fieldpath.Set{fieldpath.APIVersion(v1alpha1.SchemeGroupVersion.String()): set}
}
