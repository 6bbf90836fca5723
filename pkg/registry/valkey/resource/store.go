// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package resource

import (
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/registry/generic"
	genericregistry "k8s.io/apiserver/pkg/registry/generic/registry"
	"k8s.io/apiserver/pkg/registry/rest"
	"k8s.io/apiserver/pkg/storage"

	"github.com/valkeykube/valkeykube/pkg/apis/valkey"
)

// WriteStrategy is what decides about writes through one endpoint of a kind.
type WriteStrategy interface {
	rest.RESTCreateStrategy
	rest.RESTUpdateStrategy
	rest.RESTDeleteStrategy
	rest.ResetFieldsStrategy
}

// Definition is what a kind's store is made from.
type Definition struct {
	Singular, Plural string
	New, NewList     func() runtime.Object
	Strategy         WriteStrategy
	// StatusStrategy decides about writes through the status endpoint.
	StatusStrategy WriteStrategy
	// Attributes are the labels and fields that selectors see.
	Attributes storage.AttrFunc
	Table      rest.TableConvertor
}

// NewStore makes a kind's store in etcd, and its status endpoint.
func NewStore(definition Definition, options generic.RESTOptionsGetter) (*genericregistry.Store, *StatusREST, error) {
	store := &genericregistry.Store{
		NewFunc:                   definition.New,
		NewListFunc:               definition.NewList,
		DefaultQualifiedResource:  valkey.Resource(definition.Plural),
		SingularQualifiedResource: valkey.Resource(definition.Singular),

		CreateStrategy:      definition.Strategy,
		UpdateStrategy:      definition.Strategy,
		DeleteStrategy:      definition.Strategy,
		ResetFieldsStrategy: definition.Strategy,

		TableConvertor: definition.Table,
	}
	if err := store.CompleteWithOptions(&generic.StoreOptions{RESTOptions: options, AttrFunc: definition.Attributes}); err != nil {
		return nil, nil, err
	}
	statusStore := *store
	statusStore.UpdateStrategy = definition.StatusStrategy
	statusStore.ResetFieldsStrategy = definition.StatusStrategy
	return store, &StatusREST{store: &statusStore}, nil
}
