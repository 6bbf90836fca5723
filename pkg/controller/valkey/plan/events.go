// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/valkeykube/valkeykube/pkg/apis/valkey/v1alpha1"
)

// Event is something worth telling to people.
type Event struct {
	// Warning: something is not as it should be.
	Warning         bool
	Reason, Message string
	// Node that it is about besides the Valkey; empty for none. Events of one reason about different nodes are kept apart.
	Node string
}

// OutcomeEvents are what was done that is worth telling, whether or not it shows in the status.
func OutcomeEvents(outcomes []Outcome) []Event {
	var events []Event
	for _, outcome := range outcomes {
		if event, worth := outcomeEvent(outcome); worth {
			events = append(events, event)
		}
	}
	return events
}

// Transitions are what the step from one status to the next is worth telling. Where nothing turned there are none. told is the primary that
// was last told of, empty if none was: the API server records a failover that it carries out itself.
func Transitions(before, after v1alpha1.ValkeyStatus, told string) []Event {
	var events []Event
	if told = firstOf(told, before.Primary); told != "" && after.Primary != told {
		cause := ""
		if after.LastFailover != nil && after.LastFailover.To == after.Primary {
			cause = string(after.LastFailover.Cause)
		}
		text := fmt.Sprintf("primary changed from %s to %s (%s)", told, after.Primary, cause)
		events = append(events, Event{Reason: v1alpha1.EventPrimaryChanged, Message: text, Node: after.Primary})
	}
	if o := after.Operation; o != nil && o.Phase == v1alpha1.OperationFailed && before.Operation != nil &&
		before.Operation.UID == o.UID && before.Operation.Phase == v1alpha1.OperationInProgress && !IsOwn(o) {
		text := fmt.Sprintf("the failover from %s to %s that %s asked for was not finished in time", o.From, o.To, o.RequestedBy)
		events = append(events, Event{Warning: true, Reason: v1alpha1.EventOperationExpired, Message: text})
	}
	return append(events, conditionEvents(before, after)...)
}

// outcomeEvent is what a single action is worth telling.
func outcomeEvent(outcome Outcome) (Event, bool) {
	action := outcome.Action
	if outcome.Skipped || outcome.Repeated {
		return Event{}, false
	}
	if outcome.Err != nil {
		switch action.(type) {
		case HandOver:
			return Event{Warning: true, Reason: v1alpha1.EventHandOverFailed, Message: truncated(action.String() + ": " + outcome.Err.Error())}, !outcome.Transient
		case Promote, RemoveNode:
			return Event{Warning: true, Reason: v1alpha1.EventActionFailed, Message: truncated(action.String() + ": " + outcome.Err.Error())}, !outcome.Transient
		}
		return Event{}, false
	}
	switch a := action.(type) {
	case Apply:
		return Event{Reason: v1alpha1.EventNodeCreated, Message: "made node " + a.Name, Node: a.Name}, a.Kind == KindNode && a.Creates
	case WritePasswords:
		return Event{Warning: true, Reason: v1alpha1.EventPasswordsRecovered, Message: "Secret " + a.Name + " was lost and has been made again"}, a.Recovers
	case Follow:
		return Event{Reason: v1alpha1.EventReattached, Message: fmt.Sprintf("%s %s; it follows %s now", a.Node, a.Why, a.Primary), Node: a.Node}, true
	case Promote:
		to := outcome.promoted(a.To)
		why := truncated(fmt.Sprintf("promoted %s in place of %s: %s", to, a.From, a.Why))
		return Event{Warning: true, Reason: v1alpha1.EventPromoted, Message: why, Node: to}, true
	case HandOver:
		to := outcome.promoted(a.To)
		return Event{Reason: v1alpha1.EventHandedOver, Message: fmt.Sprintf("handed over from %s to %s: %s", a.From, to, a.Why), Node: to}, true
	case RemoveNode:
		return Event{Reason: v1alpha1.EventNodeRemoved, Message: "removed node " + a.Node, Node: a.Node}, true
	case Replace:
		return Event{Reason: v1alpha1.EventRollStarted, Message: fmt.Sprintf("%s may replace its pod (revision %s)", a.Node, a.Revision), Node: a.Node}, true
	}
	return Event{}, false
}

// transition is an event for each direction in which a condition turns.
type transition struct {
	condition           string
	onTrue, onFalse     string
	warnTrue, warnFalse bool
	afterFalse          bool // only when it was True before: not when it is first reported
}

var transitions = []transition{
	{condition: v1alpha1.ConditionReady, onTrue: v1alpha1.EventReady, onFalse: v1alpha1.EventNotReady, warnFalse: true, afterFalse: true},
	{condition: v1alpha1.ConditionPrimaryElected, onFalse: v1alpha1.EventPrimaryLost, warnFalse: true, afterFalse: true},
	{condition: v1alpha1.ConditionReplicationHealthy, onFalse: v1alpha1.EventReplicationUnhealthy, warnFalse: true, afterFalse: true},
	{condition: v1alpha1.ConditionDegraded, onTrue: v1alpha1.EventDegraded, warnTrue: true, onFalse: v1alpha1.EventRecovered, afterFalse: true},
	{condition: v1alpha1.ConditionConfigurationWarning, onTrue: v1alpha1.EventConfigurationWarning, warnTrue: true},
}

// reasonEvents are reasons that have an event of their own.
var reasonEvents = map[string]string{
	v1alpha1.ReasonForeignObject:    v1alpha1.EventForeignObject,
	v1alpha1.ReasonApplyFailed:      v1alpha1.EventApplyFailed,
	v1alpha1.ReasonSecretMissing:    v1alpha1.EventSecretMissing,
	v1alpha1.ReasonSeveralPrimaries: v1alpha1.EventSeveralPrimaries,
}

// held are the reasons for which a roll waits for something that may never come.
var held = []string{
	v1alpha1.ReasonHeldNobodyToTakeOver, v1alpha1.ReasonSyncTimeout, v1alpha1.ReasonAwaitingApproval, v1alpha1.ReasonSentinelsUnreachable,
}

func conditionEvents(before, after v1alpha1.ValkeyStatus) []Event {
	var events []Event
	for _, t := range transitions {
		was, is := meta.FindStatusCondition(before.Conditions, t.condition), meta.FindStatusCondition(after.Conditions, t.condition)
		if is == nil {
			continue
		}
		turned := was == nil || was.Status != is.Status
		reason, warning := t.onTrue, t.warnTrue
		if is.Status != metav1.ConditionTrue {
			reason, warning = t.onFalse, t.warnFalse
			turned = turned && (!t.afterFalse || was != nil)
		}
		if special, has := reasonEvents[is.Reason]; has && (was == nil || was.Reason != is.Reason || was.Message != is.Message) {
			reason, warning, turned = special, true, true
		}
		// Several conditions may tell of one thing.
		event := Event{Warning: warning, Reason: reason, Message: firstOf(is.Message, is.Reason)}
		if turned && reason != "" && !slices.Contains(events, event) {
			events = append(events, event)
		}
	}
	return append(events, rollEvents(before, after)...)
}

// rollEvents tell when a roll begins to wait for somebody, and when everything is rolled.
func rollEvents(before, after v1alpha1.ValkeyStatus) []Event {
	was := meta.FindStatusCondition(before.Conditions, v1alpha1.ConditionProgressing)
	is := meta.FindStatusCondition(after.Conditions, v1alpha1.ConditionProgressing)
	if was == nil || is == nil || was.Reason == is.Reason {
		return nil
	}
	switch {
	case slices.Contains(held, is.Reason):
		return []Event{{Warning: true, Reason: v1alpha1.EventRollHeld, Message: is.Message}}
	case is.Reason == v1alpha1.ReasonAsExpected && was.Reason == v1alpha1.ReasonRolling:
		return []Event{{Reason: v1alpha1.EventRollFinished, Message: "every node runs what the spec asks for"}}
	}
	return nil
}
