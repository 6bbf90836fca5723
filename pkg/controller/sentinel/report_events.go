// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package sentinel

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/valkeykube/valkeykube/pkg/apis/valkey/v1alpha1"
	"github.com/valkeykube/valkeykube/pkg/controller/sentinel/plan"
)

// turn is an event for a condition that turned, or that says something else than before while it has the status.
type turn struct {
	condition string
	to        metav1.ConditionStatus
	// from, where not empty, is what it must have been.
	from metav1.ConditionStatus
	// words: a changed message counts, too.
	words        bool
	kind, reason string
}

var turns = []turn{
	{condition: v1alpha1.ConditionReady, to: metav1.ConditionTrue, kind: corev1.EventTypeNormal, reason: v1alpha1.EventReady},
	{condition: v1alpha1.ConditionReady, to: metav1.ConditionFalse, from: metav1.ConditionTrue, kind: corev1.EventTypeWarning, reason: v1alpha1.EventNotReady},
	{condition: v1alpha1.ConditionQuorumHealthy, to: metav1.ConditionFalse, from: metav1.ConditionTrue, kind: corev1.EventTypeWarning, reason: v1alpha1.EventQuorumLost},
	{condition: v1alpha1.ConditionQuorumHealthy, to: metav1.ConditionTrue, from: metav1.ConditionFalse, kind: corev1.EventTypeNormal, reason: v1alpha1.EventQuorumRestored},
	{condition: v1alpha1.ConditionConfigurationWarning, to: metav1.ConditionTrue, words: true, kind: corev1.EventTypeWarning, reason: v1alpha1.EventConfigurationWarning},
	{condition: v1alpha1.ConditionMonitorConflict, to: metav1.ConditionTrue, words: true, kind: corev1.EventTypeWarning, reason: v1alpha1.EventMonitorConflict},
}

// degradations are the reasons of Degraded that are worth an event, with the event's reason.
var degradations = map[string]string{
	v1alpha1.ReasonForeignObject:    v1alpha1.EventForeignObject,
	v1alpha1.ReasonApplyFailed:      v1alpha1.EventApplyFailed,
	v1alpha1.ReasonSecretMissing:    v1alpha1.EventSecretMissing,
	v1alpha1.ReasonSentinelSilent:   v1alpha1.EventDegraded,
	v1alpha1.ReasonSentinelTilt:     v1alpha1.EventDegraded,
	v1alpha1.ReasonMonitorMisplaced: v1alpha1.EventDegraded,

	v1alpha1.ReasonCertificateNotReady: v1alpha1.EventDegraded,
	v1alpha1.ReasonCertManagerMissing:  v1alpha1.EventDegraded,
}

// tellTransitions makes an event of a condition that changed, never of one that stayed.
func (r *reconciler) tellTransitions(set *v1alpha1.ValkeySentinel, status v1alpha1.ValkeySentinelStatus) {
	for _, turn := range turns {
		before, after := condition(set.Status, turn.condition), condition(status, turn.condition)
		changed := before.Status != after.Status || turn.words && before.Message != after.Message
		if after.Status == turn.to && changed && (turn.from == "" || before.Status == turn.from) {
			r.tell(set, turn.kind, turn.reason, after.Message)
		}
	}
	r.tellDegraded(set, condition(set.Status, v1alpha1.ConditionDegraded), condition(status, v1alpha1.ConditionDegraded))
}

// tellDegraded tells of what is missing, but not of what was never there yet.
func (r *reconciler) tellDegraded(set *v1alpha1.ValkeySentinel, before, after metav1.Condition) {
	started := set.Status.State != "" && set.Status.State != v1alpha1.StateInitializing
	if after.Status != metav1.ConditionTrue {
		if before.Status == metav1.ConditionTrue && started {
			r.tell(set, corev1.EventTypeNormal, v1alpha1.EventRecovered, after.Message)
		}
		return
	}
	reason, worth := degradations[after.Reason]
	if worth && before.Reason != after.Reason && (started || reason != v1alpha1.EventDegraded) {
		r.tell(set, corev1.EventTypeWarning, reason, after.Message)
	}
}

// condition is one of a status's conditions; one that is not there is empty.
func condition(status v1alpha1.ValkeySentinelStatus, name string) metav1.Condition {
	if found := meta.FindStatusCondition(status.Conditions, name); found != nil {
		return *found
	}
	return metav1.Condition{}
}

// deed is what was done to the same monitor on several Sentinels.
type deed struct{ kind, reason, what string }

// tellOutcomes makes an event of what was done, one for all Sentinels it was done on.
func (r *reconciler) tellOutcomes(set *v1alpha1.ValkeySentinel, outcomes []plan.Outcome) {
	var order []deed
	on := map[deed][]string{}
	for _, outcome := range outcomes {
		done, ok := deedOf(outcome)
		if !ok {
			continue
		}
		if _, known := on[done]; !known {
			order = append(order, done)
		}
		if index, toSentinel := plan.SentinelOf(outcome.Action); toSentinel {
			on[done] = append(on[done], fmt.Sprint(index))
		} else {
			on[done] = nil
		}
	}
	for _, done := range order {
		message := done.what
		if sentinels := on[done]; len(sentinels) > 0 {
			message += " on Sentinel " + strings.Join(sentinels, ", ")
		}
		r.tell(set, done.kind, done.reason, message)
	}
}

// deedOf is the event of an outcome, if it is worth one.
func deedOf(outcome plan.Outcome) (deed, bool) {
	if setting, ok := outcome.Action.(plan.SetSetting); ok && outcome.Refused != "" {
		what := fmt.Sprintf("%s %s of monitor %s was refused: %s", setting.Key, setting.Value, setting.Monitor, outcome.Refused)
		return deed{corev1.EventTypeWarning, v1alpha1.EventSettingRefused, what}, true
	}
	if outcome.Err != nil || outcome.Skipped {
		return deed{}, false
	}
	switch action := outcome.Action.(type) {
	case plan.Register:
		if !action.Replaced.IsZero() {
			what := fmt.Sprintf("monitor %s was moved from %s to the primary, %s,", action.Monitor, action.Replaced, action.Primary)
			return deed{corev1.EventTypeWarning, v1alpha1.EventMonitorCorrected, what}, true
		}
		what := fmt.Sprintf("monitor %s was registered at %s", action.Monitor, action.Primary)
		return deed{corev1.EventTypeNormal, v1alpha1.EventMonitorRegistered, what}, true
	case plan.Remove:
		what := fmt.Sprintf("monitor %s was removed (%s)", action.Monitor, action.Why)
		return deed{corev1.EventTypeNormal, v1alpha1.EventMonitorRemoved, what}, !action.Replacing
	case plan.Reset:
		what := fmt.Sprintf("monitors %s were reset %s", strings.Join(action.Monitors, ", "), action.Why)
		return deed{corev1.EventTypeNormal, v1alpha1.EventForgotten, what}, true
	case plan.ReplacePod:
		return deed{corev1.EventTypeNormal, v1alpha1.EventSentinelReplaced, "deleted outdated pod " + action.Name}, true
	case plan.Scale:
		what := fmt.Sprintf("from %d Sentinels to %d", action.From, action.To)
		return deed{corev1.EventTypeNormal, v1alpha1.EventScaled, what}, true
	}
	return deed{}, false
}

// mostText is how long an event's message may be, in bytes; the API allows 1 KiB.
const mostText = 1000

func (r *reconciler) tell(set *v1alpha1.ValkeySentinel, kind, reason, message string) {
	if len(message) > mostText {
		message = strings.ToValidUTF8(message[:mostText], "") + "…"
	}
	r.events.Eventf(set, nil, kind, reason, "Reconcile", "%s", message)
}
