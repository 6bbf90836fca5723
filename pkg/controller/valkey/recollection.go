// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package valkey

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/valkeykube/valkeykube/pkg/apis/valkey/v1alpha1"
	"github.com/valkeykube/valkeykube/pkg/controller/valkey/plan"
)

// recollections is what the process remembers of each Valkey between passes.
type recollections struct {
	mu       sync.Mutex
	byValkey map[types.NamespacedName]recollection
}

type recollection struct {
	uid    types.UID
	memory plan.Memory
	// written is the object as it was after our last status write over the version baseVersion: until the cache shows a newer one, it is
	// the object.
	written     *v1alpha1.Valkey
	baseVersion string
	// ending: the namespace is being deleted, which never stops again.
	ending bool
	// failures are actions that failed, by their text, and are not tried again for a while.
	failures map[string]failure
	// quiet identifies the last look after which there was nothing to do, and how long to wait after another like it; empty where there was.
	quiet      string
	quietAfter time.Duration
}

// failure is an action that failed.
type failure struct {
	err   error
	times int
	until time.Time
}

// recall is what is remembered of the Valkey; nothing of an earlier one of the same name.
func (r *recollections) recall(key types.NamespacedName, uid types.UID) recollection {
	r.mu.Lock()
	defer r.mu.Unlock()
	if known := r.byValkey[key]; known.uid == uid {
		return known
	}
	return recollection{uid: uid}
}

func (r *recollections) remember(key types.NamespacedName, what recollection) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.byValkey == nil {
		r.byValkey = map[types.NamespacedName]recollection{}
	}
	r.byValkey[key] = what
}

func (r *recollections) forget(key types.NamespacedName) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.byValkey, key)
}

// current is the object as the cache shows it, or as we wrote it where the cache is behind.
func (k recollection) current(cached *v1alpha1.Valkey) *v1alpha1.Valkey {
	if k.written != nil && cached.ResourceVersion == k.baseVersion {
		return k.written.DeepCopy()
	}
	return cached
}
