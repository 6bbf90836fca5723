// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	corev1 "k8s.io/api/core/v1"

	"github.com/valkeykube/valkeykube/pkg/apis/valkey/v1alpha1"
	"github.com/valkeykube/valkeykube/pkg/desired"
	"github.com/valkeykube/valkeykube/pkg/naming"
	"github.com/valkeykube/valkeykube/pkg/topology"
)

// isPrimary tells whether the member answers and says that it is primary.
func isPrimary(m topology.Member) bool {
	return m.Reach.OK() && !m.Loading && m.Role == topology.RolePrimary
}

// isGone tells whether the member does not answer at all. One that loads, or refuses a login, is there.
func isGone(m topology.Member) bool {
	return m.Reach.Class == topology.ReachUnreachable || m.Reach.Class == topology.ReachTimeout
}

// IsIdle tells whether no server runs in the node's pod, so that replacing the pod takes nothing away.
func IsIdle(pod *corev1.Pod) bool { return isIdle(pod) }

func isIdle(pod *corev1.Pod) bool {
	if pod == nil {
		return true
	}
	for _, container := range pod.Status.ContainerStatuses {
		if container.Name == naming.ContainerServer {
			return container.State.Running == nil
		}
	}
	return pod.Status.Phase == corev1.PodPending
}

// isSettled tells whether the node's pod is the one its spec asks for, and ready. It believes the pod more than the node's status, which may
// be a moment old.
func isSettled(n Node) bool {
	return n.Object.DeletionTimestamp == nil && n.Object.Status.ObservedGeneration == n.Object.Generation &&
		n.Object.Status.PendingRevision == "" && isUp(n) &&
		n.Pod.Annotations[naming.AnnotationRevision] == n.Object.Status.WorkloadRevision
}

// isUp tells whether the node has a pod that is ready and stays.
func isUp(n Node) bool {
	return n.Pod != nil && n.Pod.DeletionTimestamp == nil && desired.IsPodReady(n.Pod)
}

// isAuthorised tells whether the node may replace its pod and has not done so yet.
func isAuthorised(n Node) bool {
	return n.Object.Status.PendingRevision != "" && n.Object.Spec.WorkloadRevision == n.Object.Status.PendingRevision
}

// wantedNodes is how many nodes the spec asks for.
func wantedNodes(valkey *v1alpha1.Valkey) int { return int(valkey.Spec.Replicas) + 1 }
