// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package valkey

import (
	"time"

	"github.com/valkeykube/valkeykube/pkg/apis/valkey/v1alpha1"
	"github.com/valkeykube/valkeykube/pkg/controller/valkey/plan"
)

// recollection is what the process remembers of a Valkey between passes.
type recollection struct {
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

// current is the object as the cache shows it, or as we wrote it where the cache is behind.
func (k recollection) current(cached *v1alpha1.Valkey) *v1alpha1.Valkey {
	if k.written != nil && cached.ResourceVersion == k.baseVersion {
		return k.written.DeepCopy()
	}
	return cached
}
