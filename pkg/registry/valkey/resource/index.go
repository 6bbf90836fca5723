// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package resource

import (
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/storage"
	"k8s.io/client-go/tools/cache"
)

// predicate is the library's own, with the fields that are indexed.
func (d Definition[O, S, T]) predicate(label labels.Selector, field fields.Selector) storage.SelectionPredicate {
	return storage.SelectionPredicate{
		Label: label, Field: field, GetAttrs: d.Kind.Attributes, IndexFields: d.IndexedFields,
	}
}

// indexers let a list that asks for one value of an indexed field leave the other objects of the cache alone.
func (d Definition[O, S, T]) indexers() cache.Indexers {
	indexers := cache.Indexers{}
	for _, name := range d.IndexedFields {
		indexers[storage.FieldIndex(name)] = func(stored any) ([]string, error) {
			_, selectable, err := d.Kind.Attributes(stored.(runtime.Object))
			if err != nil || selectable[name] == "" {
				return nil, err
			}
			return []string{selectable[name]}, nil
		}
	}
	return indexers
}
