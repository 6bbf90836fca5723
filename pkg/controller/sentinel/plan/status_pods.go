// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"

	"github.com/valkeykube/valkeykube/pkg/apis/valkey/v1alpha1"
	"github.com/valkeykube/valkeykube/pkg/naming"
	"github.com/valkeykube/valkeykube/pkg/topology"
)

// silence is why a Sentinel tells the controller nothing.
func silence(index int, reach topology.Reach) finding {
	switch reach.Class {
	case topology.ReachAuth, topology.ReachPermission:
		return finding{v1alpha1.ReasonAuthFailed, fmt.Sprintf("Sentinel %d refuses the controller's login", index)}
	}
	return finding{v1alpha1.ReasonSentinelSilent, fmt.Sprintf("Sentinel %d does not answer (%s)", index, reach.Class)}
}

func (s *summary) pod(index int) *corev1.Pod {
	return s.Objects.Pods[naming.SentinelPod(s.Set.Name, index)]
}

// isSettling tells whether a pod that is not ready has only just been made or deleted, as in a roll or after an eviction.
func (s *summary) isSettling(pod *corev1.Pod) bool {
	if pod == nil || isPodReady(pod) {
		return false
	}
	since := pod.CreationTimestamp
	if pod.DeletionTimestamp != nil {
		since = *pod.DeletionTimestamp
	}
	return s.Now.Sub(since.Time) < patience
}

// tooFew says what a majority lacks: Sentinels that answer or, of so many that do, such that trust their clock.
func (s *summary) tooFew(answering int) string {
	size := s.plan.size
	if answering < majority(size) {
		return fmt.Sprintf("%d of %d Sentinels answer, a majority is %d", answering, size, majority(size))
	}
	return fmt.Sprintf("%d of %d Sentinels trust their clock, a majority is %d", answering-s.tilted(), size, majority(size))
}
