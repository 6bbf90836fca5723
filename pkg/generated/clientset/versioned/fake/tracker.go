// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package fake

import (
	"errors"
	"fmt"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/testing"

	"github.com/valkeykube/valkeykube/pkg/apis/valkey/v1alpha1"
)

// This file is written by hand. hack/update-codegen.sh has the generated clientset call it in place of the library's functions
// of the same names, for two reasons: the library's tracker files an object under a name that it guesses from the kind, which for
// Valkeys is "valkeies"; and its reaction answers for a subresource with the parent, which the typed methods cannot return.

var (
	valkeys = v1alpha1.SchemeGroupVersion.WithResource("valkeys")
	// guessed is where the library's tracker files Valkeys.
	guessed, _ = meta.UnsafeGuessKindToResource(v1alpha1.SchemeGroupVersion.WithKind("Valkey"))
)

func newObjectTracker(scheme testing.ObjectScheme, decoder runtime.Decoder) testing.ObjectTracker {
	return tracker{testing.NewObjectTracker(scheme, decoder)}
}

func newFieldManagedObjectTracker(scheme *runtime.Scheme, decoder runtime.Decoder, converter managedfields.TypeConverter) testing.ObjectTracker {
	return tracker{testing.NewFieldManagedObjectTracker(scheme, decoder, converter)}
}

// objectReaction answers from the tracker. What is stored nowhere has no answer until a test gives one with PrependReactor.
func objectReaction(tracker testing.ObjectTracker) testing.ReactionFunc {
	stored := testing.ObjectReaction(tracker)
	return func(action testing.Action) (bool, runtime.Object, error) {
		resource := action.GetResource().Resource
		switch subresource := action.GetSubresource(); {
		case subresource != "" && subresource != "status":
			resource += "/" + subresource
		case resource != "failoverrequests":
			return stored(action)
		}
		return true, nil, fmt.Errorf("the fake clientset knows no answer: give it one with PrependReactor(%q, %q, ...)", action.GetVerb(), resource)
	}
}

// tracker files Valkeys where the library's functions look for them, whoever asks.
type tracker struct{ testing.ObjectTracker }

func filed(resource schema.GroupVersionResource) schema.GroupVersionResource {
	if resource == valkeys {
		return guessed
	}
	return resource
}

// named speaks of Valkeys under the name that everybody else knows.
func named(err error) error {
	var status *apierrors.StatusError
	if !errors.As(err, &status) || status.ErrStatus.Details == nil || status.ErrStatus.Details.Kind != guessed.Resource {
		return err
	}
	renamed := &apierrors.StatusError{ErrStatus: *status.ErrStatus.DeepCopy()}
	renamed.ErrStatus.Message = strings.Replace(renamed.ErrStatus.Message, guessed.GroupResource().String(), valkeys.GroupResource().String(), 1)
	renamed.ErrStatus.Details.Kind = valkeys.Resource
	return renamed
}

func (t tracker) Add(object runtime.Object) error { return named(t.ObjectTracker.Add(object)) }

func (t tracker) Get(resource schema.GroupVersionResource, namespace, name string, options ...metav1.GetOptions) (runtime.Object, error) {
	object, err := t.ObjectTracker.Get(filed(resource), namespace, name, options...)
	return object, named(err)
}

func (t tracker) Create(resource schema.GroupVersionResource, object runtime.Object, namespace string, options ...metav1.CreateOptions) error {
	return named(t.ObjectTracker.Create(filed(resource), object, namespace, options...))
}

func (t tracker) Update(resource schema.GroupVersionResource, object runtime.Object, namespace string, options ...metav1.UpdateOptions) error {
	return named(t.ObjectTracker.Update(filed(resource), object, namespace, options...))
}

func (t tracker) Patch(resource schema.GroupVersionResource, object runtime.Object, namespace string, options ...metav1.PatchOptions) error {
	return named(t.ObjectTracker.Patch(filed(resource), object, namespace, options...))
}

func (t tracker) Apply(resource schema.GroupVersionResource, configuration runtime.Object, namespace string, options ...metav1.PatchOptions) error {
	return named(t.ObjectTracker.Apply(filed(resource), configuration, namespace, options...))
}

func (t tracker) List(resource schema.GroupVersionResource, kind schema.GroupVersionKind, namespace string, options ...metav1.ListOptions) (runtime.Object, error) {
	list, err := t.ObjectTracker.List(filed(resource), kind, namespace, options...)
	return list, named(err)
}

func (t tracker) Delete(resource schema.GroupVersionResource, namespace, name string, options ...metav1.DeleteOptions) error {
	return named(t.ObjectTracker.Delete(filed(resource), namespace, name, options...))
}

func (t tracker) Watch(resource schema.GroupVersionResource, namespace string, options ...metav1.ListOptions) (watch.Interface, error) {
	events, err := t.ObjectTracker.Watch(filed(resource), namespace, options...)
	return events, named(err)
}
