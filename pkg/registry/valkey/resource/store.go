// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package resource

import (
	"context"
	"strconv"
	"sync/atomic"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/registry/generic"
	genericregistry "k8s.io/apiserver/pkg/registry/generic/registry"
	"k8s.io/apiserver/pkg/registry/rest"

	"github.com/valkeykube/valkeykube/pkg/apis/valkey"
)

// WriteStrategy is what decides about writes through one endpoint of a kind.
type WriteStrategy interface {
	rest.RESTCreateStrategy
	rest.RESTUpdateStrategy
	rest.RESTDeleteStrategy
	rest.ResetFieldsStrategy
}

// Definition is what a kind's endpoints are made from.
type Definition[O Object, S, T any] struct {
	Singular, Plural, ShortName string
	New, NewList                func() runtime.Object
	Kind                        Kind[O, S, T]
	Table                       rest.TableConvertor
	// IndexedFields are those of Kind.Fields by which the server itself looks objects up in its cache.
	IndexedFields []string
}

// REST is the main endpoint of a kind.
type REST struct {
	*genericregistry.Store
	shortName string
	written   *written
}

// Written is the latest resourceVersion at which this process has written, or deleted, an object of the kind, through any
// endpoint; "0" when it has not. A read that is no older knows of all that clients of this process were told.
func (r *REST) Written() string { return strconv.FormatUint(r.written.latest.Load(), 10) }

// written notes resourceVersions.
type written struct{ latest atomic.Uint64 }

func (w *written) note(object runtime.Object) {
	accessor, err := meta.Accessor(object)
	if err != nil {
		return
	}
	version, err := strconv.ParseUint(accessor.GetResourceVersion(), 10, 64)
	for err == nil {
		before := w.latest.Load()
		if version <= before || w.latest.CompareAndSwap(before, version) {
			return
		}
	}
}

var (
	_ rest.ShortNamesProvider = (*REST)(nil)
	_ rest.CategoriesProvider = (*REST)(nil)
)

// ShortNames are what kubectl takes for the resource.
func (r *REST) ShortNames() []string { return []string{r.shortName} }

// Categories are the groups of resources that the resource belongs to.
func (r *REST) Categories() []string { return []string{"valkey-all", "all"} }

// Create makes an object. The library would answer a resourceVersion with an internal error.
func (r *REST) Create(ctx context.Context, object runtime.Object, validate rest.ValidateObjectFunc, options *metav1.CreateOptions) (runtime.Object, error) {
	if accessor, err := meta.Accessor(object); err == nil && accessor.GetResourceVersion() != "" {
		return nil, apierrors.NewBadRequest("resourceVersion should not be set on objects to be created")
	}
	return r.Store.Create(ctx, object, validate, options)
}

// NewREST makes a kind's main endpoint in etcd, and its status endpoint. The scheme must know the group.
func NewREST[O Object, S, T any](scheme *runtime.Scheme, definition Definition[O, S, T], options generic.RESTOptionsGetter) (*REST, *StatusREST, error) {
	strategy := NewStrategy(scheme, definition.Kind)
	notes := &written{}
	store := &genericregistry.Store{
		NewFunc:                   definition.New,
		NewListFunc:               definition.NewList,
		DefaultQualifiedResource:  valkey.Resource(definition.Plural),
		SingularQualifiedResource: valkey.Resource(definition.Singular),

		CreateStrategy:      strategy,
		UpdateStrategy:      strategy,
		DeleteStrategy:      strategy,
		ResetFieldsStrategy: strategy,

		AfterCreate: func(object runtime.Object, _ *metav1.CreateOptions) { notes.note(object) },
		AfterUpdate: func(object runtime.Object, _ *metav1.UpdateOptions) { notes.note(object) },
		AfterDelete: func(object runtime.Object, _ *metav1.DeleteOptions) { notes.note(object) },

		TableConvertor: definition.Table,
	}
	storeOptions := &generic.StoreOptions{RESTOptions: options, AttrFunc: definition.Kind.Attributes}
	if len(definition.IndexedFields) > 0 {
		indexers := definition.indexers()
		storeOptions.Indexers = &indexers
		store.PredicateFunc = definition.predicate
	}
	if err := store.CompleteWithOptions(storeOptions); err != nil {
		return nil, nil, err
	}
	statusStore := *store
	statusStore.UpdateStrategy = StatusStrategy[O, S, T]{strategy}
	statusStore.ResetFieldsStrategy = StatusStrategy[O, S, T]{strategy}
	return &REST{store, definition.ShortName, notes}, &StatusREST{store: &statusStore}, nil
}
