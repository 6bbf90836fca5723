// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package valkey

import (
	"context"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/valkeykube/valkeykube/pkg/controller/valkey/plan"
	"github.com/valkeykube/valkeykube/pkg/naming"
)

// routes writes the EndpointSlices of the primaries. Two passes may want to at a time, one of them after a longer look than the other: what
// was seen later wins, whoever comes last.
type routes struct {
	client client.Client

	mu   sync.Mutex
	last map[types.NamespacedName]*route
}

type route struct {
	mu sync.Mutex
	// seen is when the look was begun that the slice was last written after.
	seen time.Time
}

// apply writes what was decided after a look that was begun at seen. It does nothing, and says so, if a later look has been acted on.
func (r *routes) apply(ctx context.Context, key types.NamespacedName, seen time.Time, action plan.Apply) (skipped bool, err error) {
	of := r.of(key)
	of.mu.Lock()
	defer of.mu.Unlock()
	if seen.Before(of.seen) {
		return true, nil
	}
	if err := r.client.Apply(ctx, action.Config, client.FieldOwner(naming.FieldManager), client.ForceOwnership); err != nil {
		return false, err
	}
	of.seen = seen
	return false, nil
}

func (r *routes) of(key types.NamespacedName) *route {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.last == nil {
		r.last = map[types.NamespacedName]*route{}
	}
	if r.last[key] == nil {
		r.last[key] = &route{}
	}
	return r.last[key]
}

func (r *routes) forget(key types.NamespacedName) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.last, key)
}
