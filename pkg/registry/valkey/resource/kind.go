// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package resource

import (
	"context"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apiserver/pkg/registry/generic"
)

// Object is what every kind is.
type Object interface {
	runtime.Object
	metav1.Object
}

// Kind is what its registry must know of a kind of objects O with a spec S and a status T.
type Kind[O Object, S, T any] struct {
	// LongestName is how long a name may be, so that those of what is made for an object are DNS labels.
	LongestName int
	// Parts are the spec and the status within an object.
	Parts func(O) (*S, *T)
	// Fields are what field selectors see, beside the name and the namespace.
	Fields func(O) fields.Set
	// Warnings are what is accepted in an object and has no effect, or is unwise, as far as it tells by itself.
	Warnings func(O) []string
	// Conflicts are what other objects have against this one. Optional. On create, old is nil.
	Conflicts func(ctx context.Context, object, old O) field.ErrorList
	// Neighbours are what is to be said about this object and others. Optional. On create, old is nil.
	Neighbours func(ctx context.Context, object, old O) []string
}

// Attributes are the labels and fields of an object that selectors see.
func (k Kind[O, S, T]) Attributes(stored runtime.Object) (labels.Set, fields.Set, error) {
	object, ok := stored.(O)
	if !ok {
		return nil, nil, fmt.Errorf("not a %T: %T", object, stored)
	}
	meta := metav1.ObjectMeta{Name: object.GetName(), Namespace: object.GetNamespace()}
	return object.GetLabels(), generic.AddObjectMetaFieldsSet(k.Fields(object), &meta, true), nil
}
