// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/valkeykube/valkeykube/pkg/apis/valkey/v1alpha1"
	"github.com/valkeykube/valkeykube/pkg/naming"
	"github.com/valkeykube/valkeykube/pkg/topology"
	"github.com/valkeykube/valkeykube/pkg/topology/view"
)

// Status is the whole status after a look, a plan and what became of it. Nothing in it moves while nothing happens.
func Status(o Observed, p Plan, outcomes []Outcome) v1alpha1.ValkeyStatus {
	previous := &o.Valkey.Status
	r := &reporter{o: &o, p: &p, outcomes: outcomes, status: previous.DeepCopy()}
	status := r.status
	status.ObservedGeneration = o.Valkey.Generation
	if o.Terminating {
		return *status
	}
	status.Selector = labels.SelectorFromSet(naming.ValkeySelector(o.Valkey.Name)).String()
	status.Operation = p.Operation
	if changed := r.primary(); changed {
		// The look is older than the change: what else is true the next one tells, at once.
		return *status
	}
	r.members()
	status.Monitoring, status.SentinelCredentialsSecret = r.monitoring(), r.sentinelCredentials()
	r.conditions()
	return *status
}

// reporter writes a status.
type reporter struct {
	o        *Observed
	p        *Plan
	outcomes []Outcome
	status   *v1alpha1.ValkeyStatus
}

// primary tells who is primary, and records a change of it. It says whether the change was made in this pass.
func (r *reporter) primary() (changed bool) {
	status, before := r.status, r.o.Valkey.Status.Primary
	verdict := r.p.Verdict
	now := before
	if verdict.Confirmed || verdict.BySentinels && verdict.Node != "" && !verdict.InFlight {
		now = verdict.Node
	}
	for _, outcome := range r.outcomes {
		from, to, cause, changes := change(outcome)
		if !changes {
			continue
		}
		if outcome.Operation != nil {
			status.Operation = outcome.Operation
		}
		if outcome.Done() {
			now, changed = to, true
			status.LastFailover = &v1alpha1.FailoverRecord{
				From: from, To: to, Cause: cause,
				StartedAt: metav1.NewTime(r.o.Now), Duration: &metav1.Duration{Duration: outcome.Duration.Round(time.Millisecond)},
			}
		}
	}
	recorded := status.LastFailover != nil && status.LastFailover.To == now
	if before != "" && now != before && !recorded {
		status.LastFailover = r.seenFailover(before, now)
	}
	status.Primary, status.PrimaryAddress = now, ""
	if now != "" {
		status.PrimaryAddress = topology.Address{
			Host: naming.NodeHost(now, r.o.Valkey.Namespace, r.o.Environment.DNS.ClusterDomain), Port: naming.PortValkey,
		}.String()
	}
	return changed
}

// seenFailover is a change that somebody else made: who claimed an operation, or the Sentinels.
func (r *reporter) seenFailover(from, to string) *v1alpha1.FailoverRecord {
	record := &v1alpha1.FailoverRecord{From: from, To: to, Cause: v1alpha1.FailoverCauseRequested, StartedAt: metav1.NewTime(r.o.Now)}
	operation, last := r.status.Operation, r.status.LastFailover
	isLater := operation != nil && (last == nil || !operation.StartedAt.Before(&last.StartedAt))
	switch {
	case isLater && operation.To == to && operation.From == from:
		record.StartedAt = operation.StartedAt
		record.Duration = &metav1.Duration{Duration: r.o.Now.Sub(operation.StartedAt.Time).Round(time.Millisecond)}
		if cause, own := ownCause(operation); own {
			record.Cause = cause
		}
	case r.p.Verdict.BySentinels:
		record.Cause = v1alpha1.FailoverCauseSentinel
	case r.gaveWay(from):
		record.Cause = v1alpha1.FailoverCauseRoll
	}
	return record
}

// gaveWay tells whether the node's pod ends, or is another one than while the node was on record as the primary: its agent then handed over
// when it was told to stop, as for a drain.
func (r *reporter) gaveWay(node string) bool {
	elected := meta.FindStatusCondition(r.o.Valkey.Status.Conditions, v1alpha1.ConditionPrimaryElected)
	for _, n := range r.o.Nodes {
		if n.Object.Name != node || n.Pod == nil {
			continue
		}
		isAnother := elected != nil && elected.Status == metav1.ConditionTrue && n.Pod.CreationTimestamp.After(elected.LastTransitionTime.Time)
		return n.Pod.DeletionTimestamp != nil || isAnother
	}
	return true
}

// members tells what each node is.
func (r *reporter) members() {
	status, o := r.status, r.o
	pods := map[string]string{}
	status.Replicas, status.ReadyReplicas, status.SyncedReplicas = 0, 0, 0
	for _, n := range o.Nodes {
		status.Replicas++
		if n.Pod != nil {
			pods[n.Object.Name] = n.Pod.Name
		}
		if isUp(n) {
			status.ReadyReplicas++
		}
	}
	leader := ""
	if r.p.Verdict.Confirmed {
		leader = r.p.Verdict.Node
	}
	status.Members = view.Members(o.Snapshot, leader, pods)
	for i := range status.Members {
		m := &status.Members[i]
		if m.Synced && m.Node != leader {
			status.SyncedReplicas++
		}
		if m.Reason == v1alpha1.ReasonMemberUnreachable || m.Reason == v1alpha1.ReasonNotYetObserved {
			m.Reason = r.podReason(m.Node, m.Reason)
		}
	}
}

// podReason is why the node's pod is not ready, where its own status says, and else what was seen.
func (r *reporter) podReason(node, seen string) string {
	if ready := r.nodeReady(node); ready != nil && ready.Status == metav1.ConditionFalse && ready.Reason != "" {
		return ready.Reason
	}
	return seen
}

func (r *reporter) nodeReady(node string) *metav1.Condition {
	for _, n := range r.o.Nodes {
		if n.Object.Name == node {
			return meta.FindStatusCondition(n.Object.Status.Conditions, v1alpha1.ConditionReady)
		}
	}
	return nil
}

// monitoring is what the Sentinels hold; nil in other modes than Sentinel.
func (r *reporter) monitoring() *v1alpha1.MonitoringStatus {
	o := r.o
	if o.Valkey.Spec.Failover.Mode != v1alpha1.FailoverModeSentinel {
		return nil
	}
	status := &v1alpha1.MonitoringStatus{MonitorName: v1alpha1.EffectiveMonitorName(o.Valkey), Conflicting: o.Monitoring.Conflicting}
	if o.Monitoring.Set == nil {
		return status
	}
	quorum := o.Snapshot.Quorum(status.MonitorName)
	status.Sentinel = o.Monitoring.Set.Name
	status.Registered = r.registered()
	status.Quorum = int32(quorum.Wanted)             //nolint:gosec // a count of Sentinels
	status.AvailableQuorum = int32(quorum.Available) //nolint:gosec // a count of Sentinels
	return status
}

// registered tells whether every Sentinel that answers holds the monitor at the primary, and at least one answers.
func (r *reporter) registered() bool {
	said := r.o.Snapshot.SentinelPrimary(v1alpha1.EffectiveMonitorName(r.o.Valkey))
	return said.Votes > 0 && said.Agreed && len(said.Missing) == 0 && said.Member == r.p.Verdict.Node
}

// sentinelCredentials is where the password is that Sentinel clients need; nil where they need none.
func (r *reporter) sentinelCredentials() *v1alpha1.SecretKeyRef {
	set := r.o.Monitoring.Set
	if set == nil || r.o.Valkey.Spec.Failover.Mode != v1alpha1.FailoverModeSentinel {
		return nil
	}
	for _, user := range set.Spec.Users {
		if secret := user.PasswordSecret; user.Name == "default" && secret != nil && len(secret.Keys) > 0 {
			return &v1alpha1.SecretKeyRef{Name: secret.Name, Key: secret.Keys[0]}
		}
	}
	return nil
}
