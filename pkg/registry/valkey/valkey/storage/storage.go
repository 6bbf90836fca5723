// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package storage

import (
	"fmt"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/registry/generic"
	genericregistry "k8s.io/apiserver/pkg/registry/generic/registry"
	"k8s.io/apiserver/pkg/registry/rest"
	"k8s.io/utils/clock"

	api "github.com/valkeykube/valkeykube/pkg/apis/valkey"
	"github.com/valkeykube/valkeykube/pkg/registry/valkey/resource"
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
	*genericregistry.Store
}

var (
	_ rest.ShortNamesProvider = (*REST)(nil)
	_ rest.CategoriesProvider = (*REST)(nil)
)

// ShortNames are what kubectl takes for valkeys.
func (r *REST) ShortNames() []string { return []string{"vk"} }

// Categories are the groups of resources that valkeys belong to.
func (r *REST) Categories() []string { return []string{"valkey-all", "all"} }

// NewStorage makes the endpoints. The scheme must know the group.
func NewStorage(scheme *runtime.Scheme, options generic.RESTOptionsGetter) (Storage, error) {
	store, status, err := resource.NewStore(resource.Definition{
		Singular:       "valkey",
		Plural:         "valkeys",
		New:            func() runtime.Object { return &api.Valkey{} },
		NewList:        func() runtime.Object { return &api.ValkeyList{} },
		Strategy:       valkey.NewStrategy(scheme),
		StatusStrategy: valkey.NewStatusStrategy(scheme),
		Attributes:     valkey.Attributes,
		Table:          valkey.NewTable(clock.RealClock{}),
	}, options)
	if err != nil {
		return Storage{}, err
	}
	return Storage{Valkey: &REST{store}, Status: status, Scale: resource.NewScaleREST(store, scalable)}, nil
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
