// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package resource

import (
	"context"
	"fmt"

	autoscalingv1 "k8s.io/api/autoscaling/v1"
	"k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/managedfields"
	genericregistry "k8s.io/apiserver/pkg/registry/generic/registry"
	"k8s.io/apiserver/pkg/registry/rest"
	"k8s.io/utils/clock"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/valkeykube/valkeykube/pkg/apis/valkey/v1alpha1"
)

// Scalable is an object whose number of replicas can be set through the scale endpoint.
type Scalable struct {
	metav1.Object
	// Wanted is spec.replicas.
	Wanted *int32
	// Observed is how many there are, counted as Wanted counts them.
	Observed int32
	// Selector selects their pods.
	Selector string
}

// ScaleREST is the scale endpoint of a kind: autoscaling/v1 Scale over its spec.replicas.
type ScaleREST struct {
	store *genericregistry.Store
	// view shows a stored object as a Scalable that writes into it.
	view func(runtime.Object) (Scalable, error)
	rest.TableConvertor
}

// NewScaleREST makes the scale endpoint over a kind's store.
func NewScaleREST(store *genericregistry.Store, view func(runtime.Object) (Scalable, error)) *ScaleREST {
	return &ScaleREST{store: store, view: view, TableConvertor: scaleTable(clock.RealClock{})}
}

var (
	_ rest.Patcher                  = (*ScaleREST)(nil)
	_ rest.GroupVersionKindProvider = (*ScaleREST)(nil)
	_ rest.TableConvertor           = (*ScaleREST)(nil)
)

var replicasPath = managedfields.ResourcePathMappings{
	v1alpha1.SchemeGroupVersion.String(): fieldpath.MakePathOrDie("spec", "replicas"),
}

// GroupVersionKind is that of autoscaling/v1 Scale.
func (r *ScaleREST) GroupVersionKind(schema.GroupVersion) schema.GroupVersionKind {
	return autoscalingv1.SchemeGroupVersion.WithKind("Scale")
}

// New is an empty Scale.
func (r *ScaleREST) New() runtime.Object { return &autoscalingv1.Scale{} }

// Destroy does nothing: the store is the kind's.
func (r *ScaleREST) Destroy() {}

// Get reads the object as a Scale.
func (r *ScaleREST) Get(ctx context.Context, name string, options *metav1.GetOptions) (runtime.Object, error) {
	object, err := r.store.Get(ctx, name, options)
	if err != nil {
		return nil, err
	}
	return r.scale(object)
}

// Update sets the number of replicas; every rule of the kind applies. It never creates.
func (r *ScaleREST) Update(ctx context.Context, name string, object rest.UpdatedObjectInfo, createValidation rest.ValidateObjectFunc, updateValidation rest.ValidateObjectUpdateFunc, _ bool, options *metav1.UpdateOptions) (runtime.Object, bool, error) {
	stored, _, err := r.store.Update(ctx, name, &scaleUpdate{endpoint: r, name: name, wanted: object},
		func(ctx context.Context, object runtime.Object) error {
			scale, err := r.scale(object)
			if err != nil {
				return err
			}
			return createValidation(ctx, scale)
		},
		func(ctx context.Context, object, old runtime.Object) error {
			scale, err := r.scale(object)
			if err != nil {
				return err
			}
			oldScale, err := r.scale(old)
			if err != nil {
				return err
			}
			return updateValidation(ctx, scale, oldScale)
		}, false, options)
	if err != nil {
		return nil, false, err
	}
	scale, err := r.scale(stored)
	return scale, false, err
}

func (r *ScaleREST) scale(object runtime.Object) (*autoscalingv1.Scale, error) {
	view, err := r.view(object)
	if err != nil {
		return nil, err
	}
	return &autoscalingv1.Scale{
		ObjectMeta: metav1.ObjectMeta{
			Name:              view.GetName(),
			Namespace:         view.GetNamespace(),
			UID:               view.GetUID(),
			ResourceVersion:   view.GetResourceVersion(),
			CreationTimestamp: view.GetCreationTimestamp(),
		},
		Spec:   autoscalingv1.ScaleSpec{Replicas: *view.Wanted},
		Status: autoscalingv1.ScaleStatus{Replicas: view.Observed, Selector: view.Selector},
	}, nil
}

// scaleUpdate makes the wanted object from the stored one: object -> old scale -> new scale -> object.
type scaleUpdate struct {
	endpoint *ScaleREST
	name     string
	wanted   rest.UpdatedObjectInfo
}

// Preconditions are the caller's.
func (u *scaleUpdate) Preconditions() *metav1.Preconditions { return u.wanted.Preconditions() }

// UpdatedObject is the stored object with the wanted number of replicas, and the managed fields that go with it.
func (u *scaleUpdate) UpdatedObject(ctx context.Context, old runtime.Object) (runtime.Object, error) {
	object := old.DeepCopyObject()
	view, err := u.endpoint.view(object)
	if err != nil {
		return nil, err
	}
	resource := u.endpoint.store.DefaultQualifiedResource
	if view.GetResourceVersion() == "" {
		return nil, errors.NewNotFound(resource, u.name)
	}
	fields := managedfields.NewScaleHandler(view.GetManagedFields(), v1alpha1.SchemeGroupVersion, replicasPath)
	oldScale, err := u.endpoint.scale(object)
	if err != nil {
		return nil, err
	}
	if oldScale.ManagedFields, err = fields.ToSubresource(); err != nil {
		return nil, err
	}
	updated, err := u.wanted.UpdatedObject(ctx, oldScale)
	if err != nil {
		return nil, err
	}
	scale, ok := updated.(*autoscalingv1.Scale)
	if !ok {
		return nil, errors.NewBadRequest(fmt.Sprintf("expected a Scale, got %T", updated))
	}
	if scale.UID != "" && scale.UID != view.GetUID() {
		return nil, errors.NewConflict(resource, u.name, fmt.Errorf(
			"the UID in the precondition is %s, that of the object is %s", scale.UID, view.GetUID()))
	}
	*view.Wanted = scale.Spec.Replicas
	view.SetResourceVersion(scale.ResourceVersion)
	managed, err := fields.ToParent(scale.ManagedFields)
	if err != nil {
		return nil, err
	}
	view.SetManagedFields(managed)
	return object, nil
}
