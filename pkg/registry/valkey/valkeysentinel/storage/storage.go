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
	"github.com/valkeykube/valkeykube/pkg/registry/valkey/valkeysentinel"
)

// Storage is the endpoints of valkeysentinels that are backed by etcd.
type Storage struct {
	ValkeySentinel *REST
	Status         *resource.StatusREST
	Scale          *resource.ScaleREST
}

// REST is the main endpoint.
type REST struct {
	*genericregistry.Store
}

var (
	_ rest.ShortNamesProvider = (*REST)(nil)
	_ rest.CategoriesProvider = (*REST)(nil)
)

// ShortNames are what kubectl takes for valkeysentinels.
func (r *REST) ShortNames() []string { return []string{"vks"} }

// Categories are the groups of resources that valkeysentinels belong to.
func (r *REST) Categories() []string { return []string{"valkey-all", "all"} }

// NewStorage makes the endpoints. The scheme must know the group.
func NewStorage(scheme *runtime.Scheme, options generic.RESTOptionsGetter) (Storage, error) {
	store, status, err := resource.NewStore(resource.Definition{
		Singular:       "valkeysentinel",
		Plural:         "valkeysentinels",
		New:            func() runtime.Object { return &api.ValkeySentinel{} },
		NewList:        func() runtime.Object { return &api.ValkeySentinelList{} },
		Strategy:       valkeysentinel.NewStrategy(scheme),
		StatusStrategy: valkeysentinel.NewStatusStrategy(scheme),
		Attributes:     valkeysentinel.Attributes,
		Table:          valkeysentinel.NewTable(clock.RealClock{}),
	}, options)
	if err != nil {
		return Storage{}, err
	}
	return Storage{ValkeySentinel: &REST{store}, Status: status, Scale: resource.NewScaleREST(store, scalable)}, nil
}

func scalable(stored runtime.Object) (resource.Scalable, error) {
	object, ok := stored.(*api.ValkeySentinel)
	if !ok {
		return resource.Scalable{}, fmt.Errorf("not a ValkeySentinel: %T", stored)
	}
	return resource.Scalable{
		Object:   object,
		Wanted:   &object.Spec.Replicas,
		Observed: object.Status.Replicas,
		Selector: object.Status.Selector,
	}, nil
}
