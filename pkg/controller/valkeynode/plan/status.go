// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/valkeykube/valkeykube/pkg/apis/valkey/v1alpha1"
	"github.com/valkeykube/valkeykube/pkg/topology"
)

// longestMessage of a condition, in bytes.
const longestMessage = 1024

// Status is what the node's status should say after a pass. Nothing in it moves while nothing happens.
func Status(o Observed, plan Plan, outcomes []Outcome) v1alpha1.ValkeyNodeStatus {
	if plan.waitsForWord {
		return *o.Node.Status.DeepCopy()
	}
	status := v1alpha1.ValkeyNodeStatus{
		ObservedGeneration: o.Node.Generation,
		WorkloadRevision:   plan.revision,
		PendingRevision:    plan.pending,
		Role:               roleOf(o.Server),
	}
	if o.Server.Role == topology.RoleReplica {
		status.ReplicaOf = o.Server.Primary.String()
	}
	if pod := o.Pod(); pod != nil {
		status.PodName, status.PodIP = pod.Name, pod.Status.PodIP
	}
	isReady, reason, message := readiness(o, plan, outcomes)
	status.Ready = isReady
	c := conditions{o: o}
	c.set(v1alpha1.ConditionReady, isReady, reason, message)
	c.setClaim(plan, outcomes)
	c.setConfig(plan, outcomes)
	c.setACL(plan.acl, outcomes)
	c.setEncrypted(plan.encrypted, outcomes)
	if plan.pending != "" {
		c.set(v1alpha1.ConditionWorkloadRollPending, true, v1alpha1.ReasonAwaitingAuthorisation,
			fmt.Sprintf("revision %s waits for Valkey %s; %s is in force", plan.pending, o.Node.Spec.Valkey, plan.revision))
	} else {
		c.set(v1alpha1.ConditionWorkloadRollPending, false, v1alpha1.ReasonAsExpected, "the pod template is what the spec asks for")
	}
	status.Conditions = c.all
	return status
}

func roleOf(server Server) v1alpha1.Role {
	switch server.Role {
	case topology.RolePrimary:
		return v1alpha1.RolePrimary
	case topology.RoleReplica:
		return v1alpha1.RoleReplica
	default:
		return v1alpha1.RoleUnknown
	}
}

// conditions are collected in a fixed order. A condition that does not apply is left out.
type conditions struct {
	o   Observed
	all []metav1.Condition
}

func (c *conditions) set(name string, isTrue bool, reason, message string) {
	status := metav1.ConditionFalse
	if isTrue {
		status = metav1.ConditionTrue
	}
	c.add(name, status, reason, message)
}

// add keeps the time of the last transition where the status stays.
func (c *conditions) add(name string, status metav1.ConditionStatus, reason, message string) {
	if len(message) > longestMessage {
		message = strings.ToValidUTF8(message[:longestMessage], "") + "…"
	}
	condition := metav1.Condition{
		Type: name, Status: status, Reason: reason, Message: message,
		ObservedGeneration: c.o.Node.Generation, LastTransitionTime: metav1.NewTime(c.o.Now),
	}
	if old := meta.FindStatusCondition(c.o.Node.Status.Conditions, name); old != nil && old.Status == status {
		condition.LastTransitionTime = old.LastTransitionTime
	}
	c.all = append(c.all, condition)
}

func (c *conditions) setClaim(plan Plan, outcomes []Outcome) {
	persistence := c.o.Node.Spec.Persistence
	if persistence == nil {
		return
	}
	reason, message := claimObstacle(plan, outcomes)
	claim := c.o.Objects.Claim
	switch {
	case reason == v1alpha1.ReasonApplyFailed && claim != nil:
		// The claim is there, and only its change was refused: a class that cannot grow, a quota.
		c.setClaimBound(claim)
		c.set(v1alpha1.ConditionPersistentVolumeClaimSizeReady, false, v1alpha1.ReasonResizeFailed, message)
		return
	case reason != "":
		c.set(v1alpha1.ConditionPersistentVolumeClaimReady, false, reason, message)
		return
	case claim == nil:
		c.set(v1alpha1.ConditionPersistentVolumeClaimReady, false, v1alpha1.ReasonClaimPending, "the volume claim is being made")
		return
	}
	c.setClaimBound(claim)
	c.setClaimSize(claim)
}

// claimObstacle is what keeps the claim from being as the spec asks.
func claimObstacle(plan Plan, outcomes []Outcome) (reason, message string) {
	for _, blocked := range plan.Blocked {
		if blocked.Kind == KindClaim {
			return blocked.Reason, blocked.Message
		}
	}
	for _, outcome := range outcomes {
		if apply, ok := outcome.Action.(Apply); ok && apply.Kind == KindClaim && outcome.Err != nil {
			return v1alpha1.ReasonApplyFailed, outcome.Err.Error()
		}
	}
	return "", ""
}

func (c *conditions) setClaimBound(claim *corev1.PersistentVolumeClaim) {
	switch claim.Status.Phase {
	case corev1.ClaimBound:
		c.set(v1alpha1.ConditionPersistentVolumeClaimReady, true, v1alpha1.ReasonAsExpected, "the volume claim is bound")
	case corev1.ClaimLost:
		c.set(v1alpha1.ConditionPersistentVolumeClaimReady, false, v1alpha1.ReasonClaimLost, "the volume behind the claim is gone")
	default:
		c.set(v1alpha1.ConditionPersistentVolumeClaimReady, false, v1alpha1.ReasonClaimPending, "the volume claim is not bound yet")
	}
}

func (c *conditions) setClaimSize(claim *corev1.PersistentVolumeClaim) {
	const name = v1alpha1.ConditionPersistentVolumeClaimSizeReady
	wanted := c.o.Node.Spec.Persistence.Capacity
	has := claim.Status.Capacity[corev1.ResourceStorage]
	request := claim.Spec.Resources.Requests[corev1.ResourceStorage]
	switch {
	case claim.Status.Phase != corev1.ClaimBound:
		c.add(name, metav1.ConditionUnknown, v1alpha1.ReasonClaimPending, "the volume claim is not bound yet")
	case has.Cmp(wanted) < 0:
		reason, message := v1alpha1.ReasonResizing, fmt.Sprintf("the volume grows from %s to %s", has.String(), wanted.String())
		if failed := resizeFailure(claim); failed != "" {
			reason, message = v1alpha1.ReasonResizeFailed, failed
		}
		c.set(name, false, reason, message)
	case request.Cmp(wanted) > 0:
		c.set(name, true, v1alpha1.ReasonLargerThanAsked, fmt.Sprintf("the claim asks for %s, more than the spec's %s; volumes never shrink", request.String(), wanted.String()))
	default:
		c.set(name, true, v1alpha1.ReasonAsExpected, "the volume has the size that is asked for")
	}
}

func resizeFailure(claim *corev1.PersistentVolumeClaim) string {
	for _, condition := range claim.Status.Conditions {
		failed := condition.Type == corev1.PersistentVolumeClaimControllerResizeError || condition.Type == corev1.PersistentVolumeClaimNodeResizeError
		if failed && condition.Status == corev1.ConditionTrue {
			return condition.Message
		}
	}
	return ""
}

func (c *conditions) setConfig(plan Plan, outcomes []Outcome) {
	configured := plan.configured
	var failed []string
	sent, accepted := 0, 0
	for _, outcome := range outcomes {
		set, ok := outcome.Action.(SetConfig)
		if !ok {
			continue
		}
		sent++
		switch {
		case outcome.Refused != "":
			failed = append(failed, set.Key+": "+outcome.Refused)
		case outcome.Err == nil:
			accepted++
		}
	}
	switch {
	case len(failed) > 0:
		if configured.reason == v1alpha1.ReasonConfigRefused {
			failed = append([]string{configured.message}, failed...)
		}
		configured = standing{known: true, reason: v1alpha1.ReasonConfigRefused, message: strings.Join(failed, "; ")}
	case sent > 0 && sent == accepted && configured.reason == v1alpha1.ReasonApplying:
		configured = configStanding(nil, nil)
	}
	if configured.settled && plan.awaitsConfig {
		configured = onItsWay()
	}
	c.setStanding(v1alpha1.ConditionLiveConfigApplied, configured)
}

func (c *conditions) setACL(acl standing, outcomes []Outcome) {
	if c.o.Node.Spec.UsersACLSecretName == "" {
		return
	}
	for _, outcome := range outcomes {
		if _, ok := outcome.Action.(LoadACL); ok && outcome.Refused != "" {
			acl = standing{known: true, reason: v1alpha1.ReasonConfigRefused, message: "the server did not load its ACL file: " + outcome.Refused}
		}
	}
	c.setStanding(v1alpha1.ConditionACLApplied, acl)
}

func (c *conditions) setStanding(name string, at standing) {
	if !at.known {
		c.add(name, metav1.ConditionUnknown, v1alpha1.ReasonServerUnreachable, "the server cannot be asked")
		return
	}
	c.set(name, at.settled, at.reason, at.message)
}
