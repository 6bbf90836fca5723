// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package storage

import (
	"context"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/registry/generic"
	"k8s.io/apiserver/pkg/registry/rest"
	"k8s.io/utils/clock"

	api "github.com/valkeykube/valkeykube/pkg/apis/valkey"
	"github.com/valkeykube/valkeykube/pkg/registry/valkey/resource"
	"github.com/valkeykube/valkeykube/pkg/registry/valkey/stored"
	"github.com/valkeykube/valkeykube/pkg/registry/valkey/valkey"
)

// Storage is the endpoints of valkeys that are backed by etcd.
type Storage struct {
	Valkey *REST
	Status *resource.StatusREST
	Scale  *resource.ScaleREST
}

// REST is the main endpoint.
type REST struct {
	*resource.REST
	monitors *valkey.MonitorNames
}

var (
	_ rest.StandardStorage    = (*REST)(nil)
	_ rest.ShortNamesProvider = (*REST)(nil)
	_ rest.CategoriesProvider = (*REST)(nil)
)

// NewStorage makes the endpoints. The scheme must know the group.
func NewStorage(scheme *runtime.Scheme, options generic.RESTOptionsGetter, others valkey.Others) (Storage, error) {
	monitors := &valkey.MonitorNames{}
	main, status, err := resource.NewREST(scheme, resource.Definition[*api.Valkey, api.ValkeySpec, api.ValkeyStatus]{
		Singular:      "valkey",
		Plural:        "valkeys",
		ShortName:     "vk",
		New:           func() runtime.Object { return &api.Valkey{} },
		NewList:       func() runtime.Object { return &api.ValkeyList{} },
		Kind:          valkey.NewKind(others, monitors),
		Table:         valkey.NewTable(clock.RealClock{}),
		IndexedFields: []string{stored.MonitorField},
	}, options)
	if err != nil {
		return Storage{}, err
	}
	return Storage{Valkey: &REST{main, monitors}, Status: status, Scale: resource.NewScaleREST(main.Store, scalable)}, nil
}

// Create makes a Valkey. Those that would take one monitor name take turns.
func (r *REST) Create(ctx context.Context, object runtime.Object, validate rest.ValidateObjectFunc, options *metav1.CreateOptions) (runtime.Object, error) {
	ctx, write := r.monitors.Begin(ctx)
	defer write.End()
	return r.REST.Create(ctx, object, validate, options)
}

// Update changes a Valkey, or makes it where forceAllowCreate says so. Those that would take one monitor name take turns.
func (r *REST) Update(ctx context.Context, name string, object rest.UpdatedObjectInfo, createValidation rest.ValidateObjectFunc, updateValidation rest.ValidateObjectUpdateFunc, forceAllowCreate bool, options *metav1.UpdateOptions) (runtime.Object, bool, error) {
	ctx, write := r.monitors.Begin(ctx)
	defer write.End()
	return r.REST.Update(ctx, name, object, createValidation, updateValidation, forceAllowCreate, options)
}

func scalable(stored runtime.Object) (resource.Scalable, error) {
	object, ok := stored.(*api.Valkey)
	if !ok {
		return resource.Scalable{}, fmt.Errorf("not a Valkey: %T", stored)
	}
	return resource.Scalable{
		Object: object,
		Wanted: &object.Spec.Replicas,
		// The primary is not one of spec.replicas.
		Observed: max(object.Status.Replicas-1, 0),
		Selector: object.Status.Selector,
	}, nil
}
