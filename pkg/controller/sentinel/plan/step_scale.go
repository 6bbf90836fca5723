// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/valkeykube/valkeykube/pkg/apis/valkey/v1alpha1"
	"github.com/valkeykube/valkeykube/pkg/desired"
	"github.com/valkeykube/valkeykube/pkg/naming"
)

// patience is how long a Sentinel that was just added may take before the next one is added all the same.
const patience = time.Minute

// stepScale decides how many Sentinels run after this pass, as far as more are wanted; fewer is stepShrink's. The first ones start all at
// once, later ones are added one at a time. One more cannot cost a quorum: its peers count it only when they have heard it, so it adds
// one voice to those that can vote whenever it adds one to those that are counted.
func stepScale(d *draft) {
	d.plan.size = d.currentSize()
	wanted := int(d.Set.Spec.Replicas)
	if wanted%2 == 0 {
		d.warn(v1alpha1.ReasonEvenSentinels, "%d Sentinels bear the loss of no more of them than %d", wanted, wanted-1)
	}
	if d.Objects.Workload == nil || wanted <= d.plan.size {
		return
	}
	last := naming.SentinelPod(d.Set.Name, d.plan.size-1)
	pod := d.Objects.Pods[last]
	if !isPodReady(pod) && (pod == nil || d.Now.Sub(pod.CreationTimestamp.Time) < patience) {
		d.waiting = true
		d.block(v1alpha1.ReasonScaling, "%d of %d Sentinels; the next is added when %s is ready", d.plan.size, wanted, last)
		return
	}
	d.plan.size++
}

// stepShrink takes one Sentinel away when fewer are wanted, the one with the highest index, and only when the others hold every monitor and
// a quorum, no failover is in flight, and nobody has to be forgotten any more. It is disruptive: until they have been made to forget it
// (stepForget), the others count it as one that does not vote.
func stepShrink(d *draft) {
	wanted := int(d.Set.Spec.Replicas)
	live := d.Objects.Workload
	if live == nil || wanted >= d.plan.size || !isOwned(d, live) {
		return
	}
	if why := d.whyNotLose(d.plan.size - 1); why != "" {
		d.block(v1alpha1.ReasonScaling, "%d of %d Sentinels; one is taken away when %s", d.plan.size, wanted, why)
		return
	}
	if d.disruptive || d.isRegistering() {
		d.block(v1alpha1.ReasonScaling, "%d of %d Sentinels; something else goes first", d.plan.size, wanted)
		return
	}
	config, err := desired.SentinelStatefulSet(d.workloadInput(d.plan.size - 1))
	if err != nil {
		return // stepWorkload has said so.
	}
	d.waiting = true
	d.do(Scale{
		Apply: Apply{Kind: KindStatefulSet, Name: naming.SentinelWorkload(d.Set.Name), Config: config},
		From:  d.plan.size, To: d.plan.size - 1,
	})
}

func isPodReady(pod *corev1.Pod) bool {
	if pod == nil || pod.DeletionTimestamp != nil {
		return false
	}
	for _, condition := range pod.Status.Conditions {
		if condition.Type == corev1.PodReady {
			return condition.Status == corev1.ConditionTrue
		}
	}
	return false
}
