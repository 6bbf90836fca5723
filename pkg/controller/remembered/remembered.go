// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package remembered

import (
	"sync"

	"k8s.io/apimachinery/pkg/types"
)

// Of keeps one T for each object. Its zero value is ready to use, by several goroutines.
type Of[T any] struct {
	mu    sync.Mutex
	byKey map[types.NamespacedName]kept[T]
}

type kept[T any] struct {
	uid  types.UID
	what T
}

// Recall is what is remembered of the object, and nothing of an earlier one of the same name.
func (o *Of[T]) Recall(key types.NamespacedName, uid types.UID) (what T, known bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	found, known := o.byKey[key]
	if !known || found.uid != uid {
		return what, false
	}
	return found.what, true
}

// Remember replaces what is remembered of the object.
func (o *Of[T]) Remember(key types.NamespacedName, uid types.UID, what T) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.byKey == nil {
		o.byKey = map[types.NamespacedName]kept[T]{}
	}
	o.byKey[key] = kept[T]{uid, what}
}

// Forget drops what is remembered of any object of that name.
func (o *Of[T]) Forget(key types.NamespacedName) {
	o.mu.Lock()
	defer o.mu.Unlock()
	delete(o.byKey, key)
}
