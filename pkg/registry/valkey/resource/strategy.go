// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package resource

import (
	"context"
	"fmt"

	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apiserver/pkg/registry/rest"
	"k8s.io/apiserver/pkg/storage/names"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/valkeykube/valkeykube/pkg/apis/valkey/v1alpha1"
)

// Strategy is what is the same for every kind. A kind's own strategy embeds it. The rules on fields are declared at the
// served types and run by DeclarativeValidation; Validate and ValidateUpdate of a kind hold only what those cannot know.
type Strategy struct {
	rest.DeclarativeValidation
	names.NameGenerator
}

// NewStrategy makes the base of a kind's strategy.
func NewStrategy(scheme *runtime.Scheme) Strategy {
	return Strategy{rest.DeclarativeValidation{Scheme: scheme}, names.SimpleNameGenerator}
}

var _ rest.GarbageCollectionDeleteStrategy = Strategy{}

// NamespaceScoped is true: every kind lives in a namespace.
func (Strategy) NamespaceScoped() bool { return true }

// AllowCreateOnUpdate is false: objects are created by POST, or by server-side apply.
func (Strategy) AllowCreateOnUpdate(context.Context) bool { return false }

// AllowUnconditionalUpdate is true: an update without a resourceVersion replaces whatever is there.
func (Strategy) AllowUnconditionalUpdate(context.Context) bool { return true }

// Canonicalize changes nothing.
func (Strategy) Canonicalize(runtime.Object) {}

// DefaultGarbageCollectionPolicy deletes what an object owns in the background.
func (Strategy) DefaultGarbageCollectionPolicy(context.Context) rest.GarbageCollectionPolicy {
	return rest.DeleteDependents
}

// ResetFields are the parts of an object that a writer through an endpoint does not own, whatever it sends.
func ResetFields(paths ...string) map[fieldpath.APIVersion]*fieldpath.Set {
	set := fieldpath.NewSet()
	for _, path := range paths {
		set.Insert(fieldpath.MakePathOrDie(path))
	}
	return map[fieldpath.APIVersion]*fieldpath.Set{fieldpath.APIVersion(v1alpha1.SchemeGroupVersion.String()): set}
}

// NameErrors checks that a name, put into those of an object's children, leaves them DNS labels.
func NameErrors(name string, longest int) field.ErrorList {
	var errs field.ErrorList
	path := field.NewPath("metadata", "name")
	if len(name) > longest {
		errs = append(errs, field.Invalid(path, name, fmt.Sprintf(
			"must be no more than %d characters, so that the names of what is made for it are DNS labels; it has %d", longest, len(name))))
		return errs
	}
	for _, message := range apivalidation.NameIsDNSLabel(name, false) {
		errs = append(errs, field.Invalid(path, name, message))
	}
	return errs
}
