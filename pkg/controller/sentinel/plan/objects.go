// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"encoding/json"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/valkeykube/valkeykube/pkg/apis/valkey/v1alpha1"
	"github.com/valkeykube/valkeykube/pkg/boot"
	"github.com/valkeykube/valkeykube/pkg/desired"
	"github.com/valkeykube/valkeykube/pkg/naming"
	"github.com/valkeykube/valkeykube/pkg/topology"
	"github.com/valkeykube/valkeykube/pkg/valkeyconf"
)

// child is a live object of one of the kinds that a set has.
type child interface {
	comparable
	runtime.Object
	metav1.Object
}

// isMine tells whether the name of a child is ours to use: nobody has it, or the object that has it belongs to this set. One that belongs
// to somebody else is noted and never touched.
func isMine[T child](d *draft, kind Kind, live T) bool {
	var none T
	if live == none || desired.IsOwnedBy(live, d.Set) {
		return true
	}
	d.plan.strange = append(d.plan.strange, fmt.Sprintf("%s %s belongs to somebody else and is left alone", kind, live.GetName()))
	return false
}

// isOwned tells whether a live object belongs to the set.
func isOwned[T child](d *draft, live T) bool {
	var none T
	return live != none && desired.IsOwnedBy(live, d.Set)
}

// ensure applies want unless the live object already is so. It returns false where the object cannot be ours now.
func ensure[T child](d *draft, live T, action Apply) bool {
	var none T
	if !isMine(d, action.Kind, live) {
		return false
	}
	if live == none {
		d.do(action)
		return true
	}
	if live.GetDeletionTimestamp() != nil {
		d.waiting = true
		return false
	}
	if !isApplied(d, live, action) {
		d.do(action)
	}
	return true
}

// isApplied tells whether applying would change nothing. Reading that out of managedFields takes most of the time of an idle pass, so the
// answer is remembered for as long as neither side changes.
func isApplied[T child](d *draft, live T, action Apply) bool {
	key := string(action.Kind) + "/" + action.Name
	text, err := json.Marshal(action.Config)
	if err != nil {
		return false
	}
	is := string(live.GetUID()) + "/" + live.GetResourceVersion() + "/" + valkeyconf.Hash(string(text))
	if live.GetResourceVersion() != "" && d.Settled[key] == is {
		d.plan.Settled[key] = is
		return true
	}
	same, err := desired.IsApplied(live, action.Config)
	if err != nil {
		d.logf("compare %s: %v", live.GetName(), err)
	}
	if err == nil && same {
		d.plan.Settled[key] = is
		return true
	}
	return false
}

// NotedSettings are the boot settings in force, empty where there are none, or none of the set's own.
func NotedSettings(set *v1alpha1.ValkeySentinel, secret *corev1.Secret) boot.Sentinel {
	if secret == nil || !desired.IsOwnedBy(secret, set) {
		return boot.Sentinel{}
	}
	settings, err := boot.Decode[boot.Sentinel](secret.Data[naming.KeyBoot])
	if err != nil {
		return boot.Sentinel{}
	}
	return settings
}

// noted is where the boot settings in force say that a monitor's primary is.
func (o Observed) noted(monitor string) (topology.Address, bool) {
	known, ok := o.notedMonitor(monitor)
	return topology.Address{Host: known.Host, Port: known.Port}, ok
}

func (o Observed) notedMonitor(monitor string) (boot.Monitor, bool) {
	i := slices.IndexFunc(o.Noted.Monitors, func(known boot.Monitor) bool { return known.Name == monitor })
	if i < 0 {
		return boot.Monitor{}, false
	}
	return o.Noted.Monitors[i], true
}

// currentSize is how many Sentinels the workload runs now, or is to run where there is none.
func (o Observed) currentSize() int {
	if workload := o.Objects.Workload; workload != nil && workload.Spec.Replicas != nil && desired.IsOwnedBy(workload, o.Set) {
		return int(*workload.Spec.Replicas)
	}
	return int(o.Set.Spec.Replicas)
}
