// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package sentinel

import (
	"sync"

	"k8s.io/apimachinery/pkg/types"

	"github.com/valkeykube/valkeykube/pkg/apis/valkey/v1alpha1"
	"github.com/valkeykube/valkeykube/pkg/controller/sentinel/plan"
)

// recollections is what the process remembers of each set between passes. Nothing depends on it but economy: without it a pass repeats what
// an earlier one found out.
type recollections struct {
	mu    sync.Mutex
	bySet map[types.NamespacedName]recollection
}

type recollection struct {
	uid     types.UID
	memory  plan.Memory
	settled map[string]string
	// refusals is shared with the pass that runs; there is one at a time for a set.
	refusals *refusals
	// status was written over the set as of seenVersion: until the cache shows a newer one, it is the status.
	status      *v1alpha1.ValkeySentinelStatus
	seenVersion string
}

// recall is what is remembered of the set; nothing of an earlier one of the same name.
func (r *recollections) recall(key types.NamespacedName, uid types.UID) recollection {
	r.mu.Lock()
	defer r.mu.Unlock()
	if known := r.bySet[key]; known.uid == uid {
		return known
	}
	return recollection{uid: uid, memory: plan.Memory{}, refusals: &refusals{}}
}

func (r *recollections) remember(key types.NamespacedName, what recollection) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.bySet == nil {
		r.bySet = map[types.NamespacedName]recollection{}
	}
	r.bySet[key] = what
}

func (r *recollections) forget(key types.NamespacedName) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.bySet, key)
}
