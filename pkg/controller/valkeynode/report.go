// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package valkeynode

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/valkeykube/valkeykube/pkg/apis/valkey/v1alpha1"
	"github.com/valkeykube/valkeykube/pkg/controller/valkeynode/plan"
	valkeyv1alpha1ac "github.com/valkeykube/valkeykube/pkg/generated/applyconfiguration/valkey/v1alpha1"
	"github.com/valkeykube/valkeykube/pkg/naming"
)

// report writes the status once, if it changed, tells of transitions, and says when to look again.
func (r *reconciler) report(ctx context.Context, o plan.Observed, decided plan.Plan, outcomes []plan.Outcome) (ctrl.Result, error) {
	if o.Terminating {
		return ctrl.Result{}, nil
	}
	key := client.ObjectKeyFromObject(o.Node)
	known, _ := r.recollections.Recall(key, o.Node.UID)
	known.memory = plan.Remember(decided, outcomes, o.Now)
	status := plan.Status(o, decided, outcomes)
	var failed []error
	if !apiequality.Semantic.DeepEqual(o.Node.Status, status) {
		if err := r.writeStatus(ctx, o.Node, status); err != nil {
			failed = append(failed, ignoreEnd(err))
		} else {
			known.status, known.seenVersion = &status, o.Node.ResourceVersion
			r.tellTransitions(o.Node, status)
		}
	}
	r.recollections.Remember(key, o.Node.UID, known)
	r.tellOutcomes(o.Node, outcomes)
	for _, outcome := range outcomes {
		if outcome.Err != nil && outcome.Refused == "" {
			failed = append(failed, ignoreEnd(outcome.Err))
		}
	}
	if err := errors.Join(failed...); err != nil {
		return ctrl.Result{}, err
	}
	return ctrl.Result{RequeueAfter: decided.RequeueAfter}, nil
}

// ignoreEnd drops errors of a node, or a namespace, that went away under the pass: the garbage collector does the rest.
func ignoreEnd(err error) error {
	if apierrors.IsNotFound(err) || apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause) {
		return nil
	}
	return err
}

func (r *reconciler) writeStatus(ctx context.Context, node *v1alpha1.ValkeyNode, status v1alpha1.ValkeyNodeStatus) error {
	text, err := json.Marshal(status)
	if err != nil {
		return err
	}
	applied := valkeyv1alpha1ac.ValkeyNodeStatus()
	if err := json.Unmarshal(text, applied); err != nil {
		return err
	}
	// The uid keeps the status of this node from another one of the same name.
	want := valkeyv1alpha1ac.ValkeyNode(node.Name, node.Namespace).WithUID(node.UID).WithStatus(applied)
	err = r.client.SubResource("status").Apply(ctx, want, client.FieldOwner(naming.FieldManager), client.ForceOwnership)
	if err != nil {
		return fmt.Errorf("write the status of node %s: %w", node.Name, err)
	}
	return nil
}

// tellTransitions makes an event of a condition that changed, never of one that stayed.
func (r *reconciler) tellTransitions(node *v1alpha1.ValkeyNode, status v1alpha1.ValkeyNodeStatus) {
	find := func(conditions []metav1.Condition, name string) metav1.Condition {
		if found := meta.FindStatusCondition(conditions, name); found != nil {
			return *found
		}
		return metav1.Condition{}
	}
	before, after := find(node.Status.Conditions, v1alpha1.ConditionReady), find(status.Conditions, v1alpha1.ConditionReady)
	switch {
	case after.Status == metav1.ConditionTrue && before.Status != metav1.ConditionTrue:
		r.tell(node, corev1.EventTypeNormal, v1alpha1.EventReady, after.Message)
	case after.Reason == v1alpha1.ReasonPodReplacing:
		// It is told as what was done: see tellOutcomes.
	case after.Status != metav1.ConditionTrue && before.Status == metav1.ConditionTrue:
		r.tell(node, corev1.EventTypeWarning, v1alpha1.EventNotReady, after.Reason+": "+after.Message)
	case after.Status != metav1.ConditionTrue && after.Reason != before.Reason:
		if reason, ok := warnings[after.Reason]; ok {
			r.tell(node, corev1.EventTypeWarning, reason, after.Message)
		}
	}
	before, after = find(node.Status.Conditions, v1alpha1.ConditionLiveConfigApplied), find(status.Conditions, v1alpha1.ConditionLiveConfigApplied)
	if after.Reason == v1alpha1.ReasonConfigRefused && before.Message != after.Message {
		r.tell(node, corev1.EventTypeWarning, v1alpha1.EventConfigRefused, after.Message)
	}
	before, after = find(node.Status.Conditions, v1alpha1.ConditionACLApplied), find(status.Conditions, v1alpha1.ConditionACLApplied)
	if after.Status == metav1.ConditionTrue && before.Status == metav1.ConditionFalse {
		r.tell(node, corev1.EventTypeNormal, v1alpha1.EventACLApplied, after.Message)
	}
}

// warnings are the reasons of a node that is not ready which are worth an event of their own, with the event's reason. The others pass, or
// are told by the cluster itself.
var warnings = map[string]string{
	v1alpha1.ReasonForeignObject:         v1alpha1.EventForeignObject,
	v1alpha1.ReasonApplyFailed:           v1alpha1.EventApplyFailed,
	v1alpha1.ReasonSecretMissing:         v1alpha1.EventSecretMissing,
	v1alpha1.ReasonConfigMapMissing:      v1alpha1.EventSecretMissing,
	v1alpha1.ReasonPodMissing:            v1alpha1.EventNotReady,
	v1alpha1.ReasonImagePullFailed:       v1alpha1.EventNotReady,
	v1alpha1.ReasonCrashLooping:          v1alpha1.EventNotReady,
	v1alpha1.ReasonContainerConfigFailed: v1alpha1.EventNotReady,
	v1alpha1.ReasonUnschedulable:         v1alpha1.EventNotReady,
	v1alpha1.ReasonMountFailed:           v1alpha1.EventNotReady,
}

// tellOutcomes makes an event of what was done to a running server or pod.
func (r *reconciler) tellOutcomes(node *v1alpha1.ValkeyNode, outcomes []plan.Outcome) {
	for _, outcome := range outcomes {
		if outcome.Err != nil {
			continue
		}
		switch action := outcome.Action.(type) {
		case plan.ReplacePod:
			r.tell(node, corev1.EventTypeNormal, v1alpha1.EventPodReplaced, fmt.Sprintf("deleted pod %s: %s", action.Name, action.Why))
		case plan.SetConfig:
			r.tell(node, corev1.EventTypeNormal, v1alpha1.EventLiveConfigApplied, "changed "+action.Key+" on the running server")
		}
	}
}

func (r *reconciler) tell(node *v1alpha1.ValkeyNode, kind, reason, message string) {
	const longest = 1000
	if len(message) > longest {
		message = message[:longest] + "…"
	}
	r.events.Eventf(node, nil, kind, reason, "Reconcile", "%s", message)
}
