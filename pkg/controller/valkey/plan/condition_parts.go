// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/valkeykube/valkeykube/pkg/apis/valkey/v1alpha1"
	"github.com/valkeykube/valkeykube/pkg/topology"
)

// progressing tells of changes that are on their way: of the spec, not of what happens by itself.
func (r *reporter) progressing(started bool) finding {
	for _, b := range r.p.Blocked {
		switch {
		case r.awaited(b):
			return yes(b.Reason, b.Message)
		case b.Step == "roll" && b.Reason == v1alpha1.ReasonSyncTimeout:
			return no(b.Reason, b.Message+r.because(r.p.Memory.Rolling))
		case b.Step == "roll" || b.Step == "scale":
			return yes(b.Reason, b.Message+r.because(r.p.Memory.Rolling))
		}
	}
	for _, action := range r.p.Actions {
		switch a := action.(type) {
		case Replace:
			return yes(v1alpha1.ReasonRolling, a.Node+" replaces its pod")
		case HandOver:
			return yes(v1alpha1.ReasonRolling, a.Why)
		case RemoveNode:
			return yes(v1alpha1.ReasonScaling, a.Node+" is removed")
		}
	}
	switch {
	case !started:
		return yes(v1alpha1.ReasonStarting, "the first pods are starting")
	case len(r.o.Nodes) != wantedNodes(r.o.Valkey) || len(r.o.Leaving) > 0:
		return yes(v1alpha1.ReasonScaling, fmt.Sprintf("%d nodes exist, %d are wanted", len(r.o.Nodes), wantedNodes(r.o.Valkey)))
	case r.p.Memory.Rolling != "":
		return yes(v1alpha1.ReasonRolling, r.p.Memory.Rolling+" was replaced and is not in sync yet"+r.because(r.p.Memory.Rolling))
	}
	return no(v1alpha1.ReasonAsExpected, "every node is as the spec asks")
}

// degraded tells of what is less than asked for.
func (r *reporter) degraded(started bool) finding {
	if trouble := r.trouble(); trouble != nil {
		return yes(trouble.Reason, trouble.Message)
	}
	if !started {
		return no(v1alpha1.ReasonStarting, "nothing was complete yet that could be missing")
	}
	if unwell := r.unwell(); unwell != "" {
		return yes(v1alpha1.ReasonPodsNotReady, unwell)
	}
	if r.o.Valkey.Spec.Failover.Mode == v1alpha1.FailoverModeSentinel {
		for _, f := range []finding{r.monitored(), r.quorum()} {
			if f.status != metav1.ConditionTrue {
				return yes(f.reason, f.message)
			}
		}
	}
	return no(v1alpha1.ReasonAsExpected, "nothing is missing")
}

// configuration tells of everything in the spec that has no effect or is unwise. What keeps something from working goes first.
func (r *reporter) configuration() finding {
	if len(r.p.Warnings) == 0 {
		return no(v1alpha1.ReasonAsExpected, "nothing in the spec is ignored or unwise")
	}
	order := []string{v1alpha1.ReasonConfigRefused, v1alpha1.ReasonSecretMissing, v1alpha1.ReasonInvalidUser, v1alpha1.ReasonUnwiseConfiguration, v1alpha1.ReasonIgnoredConfiguration}
	rank := func(w Blocked) int {
		if at := slices.Index(order, w.Reason); at >= 0 {
			return at
		}
		return len(order)
	}
	warnings := slices.Clone(r.p.Warnings)
	slices.SortStableFunc(warnings, func(a, b Blocked) int { return rank(a) - rank(b) })
	texts := make([]string, 0, len(warnings))
	for _, w := range warnings {
		texts = append(texts, w.Message)
	}
	return yes(warnings[0].Reason, strings.Join(texts, "; "))
}

func (r *reporter) elected() finding {
	verdict := r.p.Verdict
	switch {
	case !verdict.Confirmed:
		return no(verdict.Reason, firstOf(r.wayOut(), verdict.Message))
	case len(verdict.Rivals) > 0:
		return no(v1alpha1.ReasonSeveralPrimaries, fmt.Sprintf("%s is primary, and %s says so too", verdict.Node, strings.Join(verdict.Rivals, ", ")))
	}
	return yes(v1alpha1.ReasonPrimaryServing, verdict.Node+" is primary")
}

// wayOut is what the failover step says about a lost primary; empty where it says nothing.
func (r *reporter) wayOut() string {
	for _, b := range r.p.Blocked {
		if b.Step == "failover" {
			return b.Message
		}
	}
	return ""
}

func (r *reporter) replication() finding {
	switch {
	case wantedNodes(r.o.Valkey) == 1 && len(r.o.Nodes) <= 1:
		return yes(v1alpha1.ReasonNoReplicas, "there are no replicas")
	case !r.p.Verdict.Confirmed:
		return no(v1alpha1.ReasonNoPrimary, "there is no primary to follow: "+r.p.Verdict.Message)
	}
	var bad []string
	reason := ""
	for _, m := range r.status.Members {
		if m.Node == r.p.Verdict.Node || m.Synced {
			continue
		}
		reason = firstOf(reason, m.Reason, v1alpha1.ReasonReplicaNotSynced)
		bad = append(bad, firstOf(m.Pod, m.Node)+": "+firstOf(m.Reason, v1alpha1.ReasonReplicaNotSynced))
	}
	if len(r.o.Nodes) < wantedNodes(r.o.Valkey) {
		reason = firstOf(reason, v1alpha1.ReasonScaling)
		bad = append(bad, fmt.Sprintf("%d nodes are to be made", wantedNodes(r.o.Valkey)-len(r.o.Nodes)))
	}
	if len(bad) > 0 {
		return no(reason, strings.Join(bad, "; "))
	}
	return yes(v1alpha1.ReasonAsExpected, "every replica follows "+r.p.Verdict.Node)
}

func firstOf(texts ...string) string {
	for _, text := range texts {
		if text != "" {
			return text
		}
	}
	return ""
}

func (r *reporter) monitored() finding {
	set := r.o.Monitoring.Set
	if set == nil {
		return no(v1alpha1.ReasonNotSelected, "no ValkeySentinel selects this Valkey")
	}
	said := r.o.Snapshot.SentinelPrimary(v1alpha1.EffectiveMonitorName(r.o.Valkey))
	switch {
	case said.Answered == 0:
		return r.unheard()
	case len(said.Missing) > 0:
		return no(v1alpha1.ReasonNotRegistered, "no monitor on "+strings.Join(said.Missing, ", "))
	case !said.Agreed:
		return no(v1alpha1.ReasonSentinelsDisagree, "the Sentinels name more than one primary")
	case !r.registered():
		return no(v1alpha1.ReasonSentinelDiffers, fmt.Sprintf("the Sentinels name %s", said.Address))
	}
	if message := r.replicasUnknown(); message != "" {
		return no(v1alpha1.ReasonReplicasUnknown, message)
	}
	return yes(v1alpha1.ReasonRegistered, "monitored by "+set.Name)
}

// unheard says why no Sentinel tells anything.
func (r *reporter) unheard() finding {
	name, refusing := r.o.Monitoring.Set.Name, 0
	for _, sentinel := range r.o.Snapshot.Sentinels {
		if class := sentinel.Reach.Class; class == topology.ReachAuth || class == topology.ReachPermission {
			refusing++
		}
	}
	if refusing > 0 {
		return unknown(v1alpha1.ReasonAuthFailed, fmt.Sprintf("no Sentinel of %s answers: %d of %d refuse the controller's login", name, refusing, len(r.o.Snapshot.Sentinels)))
	}
	return unknown(v1alpha1.ReasonSentinelsUnreachable, "no Sentinel of "+name+" answers")
}

// replicasUnknown says which Sentinel does not know the replicas that are in sync; empty where all do.
func (r *reporter) replicasUnknown() string {
	for _, sentinel := range r.o.Snapshot.Sentinels {
		held, ok := sentinel.Monitors[v1alpha1.EffectiveMonitorName(r.o.Valkey)]
		if ok && sentinel.Reach.OK() && held.NumReplicas < int(r.status.SyncedReplicas) {
			return fmt.Sprintf("%s knows %d of %d replicas in sync", sentinel.Name, held.NumReplicas, r.status.SyncedReplicas)
		}
	}
	return ""
}

func (r *reporter) quorum() finding {
	set := r.o.Monitoring.Set
	if set == nil {
		return no(v1alpha1.ReasonNotSelected, "no ValkeySentinel selects this Valkey")
	}
	quorum := r.o.Snapshot.Quorum(v1alpha1.EffectiveMonitorName(r.o.Valkey))
	switch {
	case r.o.Snapshot.SentinelPrimary(v1alpha1.EffectiveMonitorName(r.o.Valkey)).Answered == 0:
		return r.unheard()
	case !quorum.OK:
		return no(v1alpha1.ReasonNoQuorum, quorum.Message)
	}
	return yes(v1alpha1.ReasonQuorumReached, fmt.Sprintf("%d Sentinels could fail over, %d must agree", quorum.Available, quorum.Wanted))
}
