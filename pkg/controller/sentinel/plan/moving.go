// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/valkeykube/valkeykube/pkg/apis/valkey/v1alpha1"
	"github.com/valkeykube/valkeykube/pkg/naming"
	"github.com/valkeykube/valkeykube/pkg/valkeyconf"
)

// isEncrypted tells whether the Sentinel of a pod speaks TLS to servers and peers.
func isEncrypted(pod *corev1.Pod) bool { return pod.Annotations[naming.AnnotationEncrypted] != "" }

// isMoving tells whether Sentinels of the set speak TLS and others plaintext, or all do not speak what they shall: those who differ do not reach
// each other.
func (d *draft) isMoving() bool {
	for _, pod := range d.Objects.Pods {
		if isEncrypted(pod) != d.Set.Spec.Networking.TLS.IsOnly() {
			return true
		}
	}
	return false
}

// whyNotMove says what is missing before the next Sentinel may be replaced by one that speaks as the servers do now. A quorum cannot be asked for:
// half-way there are too few on either side to agree, which ends only by going on. So it is only seen to that nothing else is amiss.
func (d *draft) whyNotMove(leaving int) string {
	for i := range d.plan.size {
		name := naming.SentinelPod(d.Set.Name, i)
		pod := d.Objects.Pods[name]
		switch {
		case i == leaving:
			continue
		case !d.reachOf(i).OK():
			return fmt.Sprintf("Sentinel %d answers", i)
		case d.Sentinels[i].Tilt:
			return fmt.Sprintf("Sentinel %d trusts its clock again (TILT)", i)
		case !isPodReady(pod):
			return name + " is ready"
		}
		for _, monitor := range d.heldNames() {
			view, held := d.Sentinels[i].View.Monitors[monitor]
			switch {
			case held && view.FailoverInProgress:
				return fmt.Sprintf("the failover of %s is over", monitor)
			case held && isEncrypted(pod) == d.Set.Spec.Networking.TLS.IsOnly() && !isQuiet(view):
				return fmt.Sprintf("Sentinel %d sees the primary of %s", i, monitor)
			}
		}
	}
	return ""
}

// servesAnother tells whether a Sentinel shows another certificate than its Secret holds, and has to be replaced to take that.
func (d *draft) servesAnother(index int) bool {
	if index >= len(d.Sentinels) || d.Certificate.Reason != "" {
		return false
	}
	sentinel := d.Sentinels[index]
	if sentinel.Served == "" || d.Certificate.Serial == "" || sentinel.Served == d.Certificate.Serial {
		return false
	}
	return !valkeyconf.SentinelReloads(sentinel.Version)
}

// mismatchOf says why Sentinels as they are now would not see the servers of a Valkey; empty where they would.
func (d *draft) mismatchOf(valkey *Valkey) string {
	sentinels := d.Noted.TLS != nil && !d.Noted.TLS.Plaintext
	if d.Objects.Workload == nil {
		sentinels = d.Set.Spec.Networking.TLS.IsOnly()
	}
	servers := meta.IsStatusConditionTrue(valkey.Object.Status.Conditions, v1alpha1.ConditionEncrypted)
	wants := valkey.Object.Spec.Networking.TLS.IsOnly()
	switch {
	case servers == sentinels:
		return ""
	case sentinels && !wants:
		return fmt.Sprintf("the Sentinels speak TLS alone, and Valkey %s plaintext: set its spec.networking.tls, without allowUnencrypted", valkey.Object.Name)
	case sentinels:
		return fmt.Sprintf("Valkey %s does not speak TLS yet", valkey.Object.Name)
	case !wants:
		return fmt.Sprintf("Valkey %s does not speak plaintext yet", valkey.Object.Name)
	}
	return fmt.Sprintf("Valkey %s speaks TLS alone, and the Sentinels plaintext: set spec.networking.tls here, without allowUnencrypted", valkey.Object.Name)
}
