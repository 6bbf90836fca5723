// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package storage

import (
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/registry/generic"
	genericregistry "k8s.io/apiserver/pkg/registry/generic/registry"
	"k8s.io/apiserver/pkg/registry/rest"
	"k8s.io/utils/clock"

	api "github.com/valkeykube/valkeykube/pkg/apis/valkey"
	"github.com/valkeykube/valkeykube/pkg/registry/valkey/resource"
	"github.com/valkeykube/valkeykube/pkg/registry/valkey/valkeynode"
)

// Storage is the endpoints of valkeynodes that are backed by etcd.
type Storage struct {
	ValkeyNode *REST
	Status     *resource.StatusREST
}

// REST is the main endpoint.
type REST struct {
	*genericregistry.Store
}

var (
	_ rest.ShortNamesProvider = (*REST)(nil)
	_ rest.CategoriesProvider = (*REST)(nil)
)

// ShortNames are what kubectl takes for valkeynodes.
func (r *REST) ShortNames() []string { return []string{"vkn"} }

// Categories are the groups of resources that valkeynodes belong to.
func (r *REST) Categories() []string { return []string{"valkey-all", "all"} }

// NewStorage makes the endpoints. The scheme must know the group.
func NewStorage(scheme *runtime.Scheme, options generic.RESTOptionsGetter) (Storage, error) {
	store, status, err := resource.NewStore(resource.Definition{
		Singular:       "valkeynode",
		Plural:         "valkeynodes",
		New:            func() runtime.Object { return &api.ValkeyNode{} },
		NewList:        func() runtime.Object { return &api.ValkeyNodeList{} },
		Strategy:       valkeynode.NewStrategy(scheme),
		StatusStrategy: valkeynode.NewStatusStrategy(scheme),
		Attributes:     valkeynode.Attributes,
		Table:          valkeynode.NewTable(clock.RealClock{}),
	}, options)
	if err != nil {
		return Storage{}, err
	}
	return Storage{ValkeyNode: &REST{store}, Status: status}, nil
}
