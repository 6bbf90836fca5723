// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"github.com/valkeykube/valkeykube/pkg/apis/valkey/v1alpha1"
	"github.com/valkeykube/valkeykube/pkg/desired"
	"github.com/valkeykube/valkeykube/pkg/naming"
)

// stepObjects makes what stands around the Sentinels: the Service that gives them names, the right of the API server to log in, the
// budget for evictions, and the policy for connections. It disrupts nothing.
func stepObjects(d *draft) {
	set := d.Set
	ensure(d, d.Objects.Service, Apply{Kind: KindService, Name: naming.SentinelWorkload(set.Name), Config: desired.SentinelService(set)})
	ensure(d, d.Objects.Role, Apply{
		Kind: KindRole, Name: naming.SentinelAPIServerRole(set.Name), Config: desired.SentinelRole(set), Secondary: true,
	})
	ensure(d, d.Objects.RoleBinding, Apply{
		Kind: KindRoleBinding, Name: naming.SentinelAPIServerRole(set.Name), Config: desired.SentinelRoleBinding(set, d.Environment.SystemNamespace), Secondary: true,
	})
	d.ensureBudget()
	d.ensureNetworkPolicy()
}

// ensureNetworkPolicy keeps the NetworkPolicy, or removes it where the spec does not ask for it.
func (d *draft) ensureNetworkPolicy() {
	live := d.Objects.NetworkPolicy
	if policy := desired.SentinelNetworkPolicy(d.Set, d.Environment.SystemNamespace); policy != nil {
		ensure(d, live, Apply{Kind: KindNetworkPolicy, Name: naming.SentinelWorkload(d.Set.Name), Config: policy, Secondary: true})
	} else if live != nil && isOwned(d, live) && live.DeletionTimestamp == nil {
		d.do(Delete{Kind: KindNetworkPolicy, Name: live.Name, UID: live.UID})
	}
}

func (d *draft) ensureBudget() {
	needed := majority(d.plan.size)
	for _, m := range d.plan.monitors {
		needed = max(needed, m.quorum)
	}
	live := d.Objects.Budget
	if budget := desired.SentinelBudget(d.Set, d.plan.size, needed); budget != nil {
		ensure(d, live, Apply{Kind: KindBudget, Name: naming.SentinelWorkload(d.Set.Name), Config: budget, Secondary: true})
	} else if live != nil && isOwned(d, live) && live.DeletionTimestamp == nil {
		d.do(Delete{Kind: KindBudget, Name: live.Name, UID: live.UID})
	}
}

// stepWorkload makes the StatefulSet. Its template may change at any time: it replaces no pod by itself (stepRoll does).
func stepWorkload(d *draft) {
	live := d.Objects.Workload
	if desired.SentinelPersistenceDiffers(d.Set, live) {
		d.warn(v1alpha1.ReasonPersistenceFixed, "persistence cannot be added to, or removed from, Sentinels that exist; it has no effect")
	}
	config, err := desired.SentinelStatefulSet(d.workloadInput(d.plan.size))
	if err != nil {
		d.unwell = true
		d.block(v1alpha1.ReasonApplyFailed, "%v", err)
		return
	}
	action := Apply{Kind: KindStatefulSet, Name: naming.SentinelWorkload(d.Set.Name), Config: config}
	if live != nil && d.plan.size != d.currentSize() && isMine(d, KindStatefulSet, live) && live.DeletionTimestamp == nil {
		d.waiting = true
		d.do(Scale{Apply: action, From: d.currentSize(), To: d.plan.size})
		return
	}
	if live == nil {
		d.waiting = true
		if d.withoutCertificate {
			return
		}
		if !d.hasBoot() {
			// Pods that cannot mount their settings try again later and later.
			d.block(v1alpha1.ReasonStarting, "the Sentinels are made when their settings are there")
			return
		}
	}
	ensure(d, live, action)
}

// hasBoot tells whether the boot settings are there, or are being made.
func (d *draft) hasBoot() bool {
	if isOwned(d, d.Objects.Boot) {
		return true
	}
	for _, action := range d.plan.Actions {
		if apply, ok := action.(Apply); ok && apply.Name == naming.SentinelBootSecret(d.Set.Name) {
			return true
		}
	}
	return false
}

func (d *draft) workloadInput(size int) desired.SentinelInput {
	return desired.SentinelInput{
		Set: d.Set, AgentImage: d.Environment.AgentImage, Size: size, Revision: d.plan.revision, Live: d.Objects.Workload,
	}
}
