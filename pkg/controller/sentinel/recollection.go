// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package sentinel

import (
	"sync"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/valkeykube/valkeykube/pkg/apis/valkey/v1alpha1"
	"github.com/valkeykube/valkeykube/pkg/controller/sentinel/plan"
)

// recollection is what the process remembers of a set between passes.
type recollection struct {
	memory  plan.Memory
	settled map[string]string
	// served is shared between passes: which certificate the Sentinel in a pod shows, as far as it is the right one.
	served *sync.Map
	// refusals is shared with the pass that runs; there is one at a time for a set.
	refusals *refusals
	// status was written over the set as of seenVersion: until the cache shows a newer one, it is the status.
	status      *v1alpha1.ValkeySentinelStatus
	seenVersion string
}

// recall is what is remembered of the set, or a new recollection.
func (r *reconciler) recall(set *v1alpha1.ValkeySentinel) recollection {
	if known, ok := r.recollections.Recall(client.ObjectKeyFromObject(set), set.UID); ok {
		return known
	}
	return recollection{memory: plan.Memory{}, refusals: &refusals{}, served: &sync.Map{}}
}
