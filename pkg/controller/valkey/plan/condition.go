// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/valkeykube/valkeykube/pkg/apis/valkey/v1alpha1"
	"github.com/valkeykube/valkeykube/pkg/topology"
	"github.com/valkeykube/valkeykube/pkg/topology/view"
)

// longestMessage of a condition, in bytes: enough for people, and bounded however many nodes there are.
const longestMessage = 1024

// finding is what a condition says.
type finding struct {
	status          metav1.ConditionStatus
	reason, message string
}

func yes(reason, message string) finding { return finding{metav1.ConditionTrue, reason, message} }
func no(reason, message string) finding  { return finding{metav1.ConditionFalse, reason, message} }
func unknown(reason, message string) finding {
	return finding{metav1.ConditionUnknown, reason, message}
}

// conditions computes all conditions, in a fixed order, and the state that sums them up.
func (r *reporter) conditions() {
	started := r.started()
	degraded, progressing, ready := r.degraded(started), r.progressing(started), r.ready(started)
	r.set(v1alpha1.ConditionReady, ready)
	r.set(v1alpha1.ConditionProgressing, progressing)
	r.set(v1alpha1.ConditionDegraded, degraded)
	r.set(v1alpha1.ConditionConfigurationWarning, r.configuration())
	r.set(v1alpha1.ConditionPrimaryElected, r.elected())
	r.set(v1alpha1.ConditionReplicationHealthy, r.replication())
	if r.o.Valkey.Spec.Failover.Mode == v1alpha1.FailoverModeSentinel {
		r.set(v1alpha1.ConditionMonitored, r.monitored())
		r.set(v1alpha1.ConditionSentinelQuorumHealthy, r.quorum())
	} else {
		meta.RemoveStatusCondition(&r.status.Conditions, v1alpha1.ConditionMonitored)
		meta.RemoveStatusCondition(&r.status.Conditions, v1alpha1.ConditionSentinelQuorumHealthy)
	}
	if r.p.encrypted.status == "" {
		meta.RemoveStatusCondition(&r.status.Conditions, v1alpha1.ConditionEncrypted)
	} else {
		r.set(v1alpha1.ConditionEncrypted, r.p.encrypted)
	}
	state := func(state v1alpha1.State, because finding) {
		r.status.State, r.status.Reason, r.status.Message = state, because.reason, truncated(because.message)
	}
	switch {
	case !started:
		state(v1alpha1.StateInitializing, ready)
	case ready.status != metav1.ConditionTrue:
		state(v1alpha1.StateFailed, ready)
	case progressing.status == metav1.ConditionTrue:
		state(v1alpha1.StateReconciling, progressing)
	case degraded.status == metav1.ConditionTrue:
		state(v1alpha1.StateDegraded, degraded)
	default:
		state(v1alpha1.StateReady, ready)
	}
}

func (r *reporter) set(kind string, f finding) {
	meta.SetStatusCondition(&r.status.Conditions, metav1.Condition{
		Type: kind, Status: f.status, Reason: f.reason, Message: truncated(f.message),
		ObservedGeneration: r.o.Valkey.Generation, LastTransitionTime: metav1.NewTime(r.o.Now),
	})
}

func truncated(message string) string {
	if len(message) <= longestMessage {
		return message
	}
	return strings.ToValidUTF8(message[:longestMessage-3], "") + "..."
}

// started tells whether the instance has been complete once: from then on it is ready while its primary serves. The state is the record of it.
func (r *reporter) started() bool {
	switch r.o.Valkey.Status.State {
	case v1alpha1.StateReady, v1alpha1.StateDegraded, v1alpha1.StateReconciling, v1alpha1.StateFailed:
		return true
	}
	monitored := r.o.Monitoring.Set == nil || r.status.Monitoring == nil || r.status.Monitoring.Registered && r.replicasUnknown() == ""
	return r.p.Whole && r.serves() && monitored
}

// serves tells whether writes are led to a primary.
func (r *reporter) serves() bool {
	if !r.p.Verdict.Confirmed {
		return false
	}
	for _, n := range r.o.Nodes {
		if n.Object.Name == r.p.Verdict.Node {
			return isUp(n)
		}
	}
	return false
}

func (r *reporter) ready(started bool) finding {
	verdict := r.p.Verdict
	switch {
	case !started && r.trouble() != nil:
		return no(r.trouble().Reason, r.trouble().Message)
	case !started && r.p.awaits:
		return no(r.p.encrypted.reason, r.p.encrypted.message)
	case !started:
		return no(v1alpha1.ReasonStarting, r.waitingFor())
	case !verdict.Confirmed:
		return no(verdict.Reason, verdict.Message)
	case !r.serves():
		return no(v1alpha1.ReasonPrimaryNotReady, "the pod of "+verdict.Node+" is not ready"+r.because(verdict.Node))
	case r.refusesWrites():
		return no(v1alpha1.ReasonDiskWriteFailed, verdict.Node+" cannot write to its volume, and refuses writes until it can")
	case r.isFenced():
		return no(v1alpha1.ReasonWritesRefused, r.fenced())
	}
	return yes(v1alpha1.ReasonPrimaryServing, verdict.Node+" is primary")
}

// refusesWrites tells whether the primary's last write to its volume failed in a way after which a server takes no writes: to the append-only file,
// or of a snapshot where snapshots are taken.
func (r *reporter) refusesWrites() bool {
	m, _ := r.o.Snapshot.Member(r.p.Verdict.Node)
	wanted := r.o.Valkey.Spec.Persistence
	switch {
	case !view.DiskFailed(m) || wanted == nil:
		return false
	case m.Persistence.AOFEnabled && !m.Persistence.AOFLastWriteOK:
		return true
	}
	return wanted.Mode != v1alpha1.PersistenceModeAOF && r.o.Valkey.Spec.Config["stop-writes-on-bgsave-error"] != "no"
}

// isFenced tells whether the primary refuses writes for lack of replicas that acknowledge.
func (r *reporter) isFenced() bool {
	m, _ := r.o.Snapshot.Member(r.p.Verdict.Node)
	return m.WantsReplicas
}

// fenced says why.
func (r *reporter) fenced() string {
	node := r.p.Verdict.Node
	if wanted, own := r.o.Valkey.Spec.Config["min-replicas-to-write"]; own {
		return fmt.Sprintf("%s refuses writes: no replica acknowledges, and spec.config sets min-replicas-to-write %s", node, wanted)
	}
	return node + " refuses writes: no replica acknowledges, and its agent has nobody who confirms that it still is the primary; a replica, or most of the Sentinels, must come back"
}

// waitingFor says what a start waits for.
func (r *reporter) waitingFor() string {
	if missing := wantedNodes(r.o.Valkey) - len(r.o.Nodes); missing > 0 {
		return fmt.Sprintf("%d nodes are to be made", missing)
	}
	if unwell := r.unwell(); unwell != "" {
		return unwell
	}
	if !r.p.Verdict.Confirmed {
		return r.p.Verdict.Message
	}
	if f := r.monitored(); f.status != metav1.ConditionTrue && r.o.Monitoring.Set != nil {
		return f.message
	}
	return "the first pods are starting"
}

// because is what a node says of why it is not ready, in brackets; empty where it says nothing.
func (r *reporter) because(node string) string {
	ready := r.nodeReady(node)
	if ready == nil || ready.Status != metav1.ConditionFalse {
		return ""
	}
	return fmt.Sprintf(" (%s: %s)", ready.Reason, ready.Message)
}

// unwell names the wanted nodes that are not ready or not in sync, and why; empty where all are well.
func (r *reporter) unwell() string {
	var unwell []string
	for _, n := range r.o.Nodes {
		if n.Index >= wantedNodes(r.o.Valkey) {
			continue
		}
		name := n.Object.Name
		at := slices.IndexFunc(r.status.Members, func(m v1alpha1.MemberStatus) bool { return m.Node == name })
		switch {
		case !isUp(n):
			unwell = append(unwell, name+" is not ready"+r.because(name))
		case at >= 0 && r.status.Members[at].Reason != "":
			unwell = append(unwell, r.why(r.status.Members[at]))
		}
	}
	return strings.Join(unwell, "; ")
}

// why is what is wrong with a member that is up, with what to do where its reason alone does not say.
func (r *reporter) why(m v1alpha1.MemberStatus) string {
	switch {
	case m.Reason == v1alpha1.ReasonTooManyClients:
		return topology.FullText(m.Node)
	case m.Reason == v1alpha1.ReasonWritesRefused && m.Node == r.p.Verdict.Node:
		return r.fenced()
	}
	return m.Node + ": " + m.Reason
}

// awaited tells whether what is blocked is a move to TLS for which cert-manager has been asked: a change on its way, not something less.
func (r *reporter) awaited(b Blocked) bool { return r.p.awaits && b.Step == stepNameEncryption }

// trouble is what cannot be done for reasons that do not pass by themselves: objects of somebody else, refusals of the API.
func (r *reporter) trouble() *Blocked {
	for _, b := range r.p.Blocked {
		if b.Reason == v1alpha1.ReasonForeignObject || b.Reason == v1alpha1.ReasonInvalidUser || b.Step == stepNameEncryption && !r.awaited(b) {
			return &b
		}
	}
	for _, outcome := range r.outcomes {
		if outcome.Err != nil && !outcome.Transient && outcome.Action.Tier() == TierSafe {
			reason := v1alpha1.ReasonApplyFailed
			if outcome.Foreign {
				reason = v1alpha1.ReasonForeignObject
			}
			return &Blocked{Reason: reason, Message: outcome.Action.String() + ": " + outcome.Err.Error()}
		}
	}
	return nil
}
