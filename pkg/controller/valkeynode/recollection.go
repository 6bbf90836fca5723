// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package valkeynode

import (
	"github.com/valkeykube/valkeykube/pkg/apis/valkey/v1alpha1"
	"github.com/valkeykube/valkeykube/pkg/controller/valkeynode/plan"
)

// recollection is what the process remembers of a node between passes.
type recollection struct {
	memory plan.Memory
	// status was written over the node as of seenVersion: until the cache shows a newer one, it is the status.
	status      *v1alpha1.ValkeyNodeStatus
	seenVersion string
}
