// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package valkey

import (
	"context"
	"math/rand/v2"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/valkeykube/valkeykube/pkg/apis/valkey/v1alpha1"
	"github.com/valkeykube/valkeykube/pkg/controller/valkey/plan"
	"github.com/valkeykube/valkeykube/pkg/desired"
)

// soon is when to look again after something was done to servers: at once.
const soon = 20 * time.Millisecond

// report writes the status once, if it changed, tells of transitions, remembers, and says when to look again.
func (r *reconciler) report(ctx context.Context, l *look, decided plan.Plan, outcomes []plan.Outcome) (ctrl.Result, error) {
	key := client.ObjectKeyFromObject(l.Valkey)
	before := l.Observed.Valkey.Status
	status := plan.Status(l.Observed, decided, outcomes)
	done, turned := plan.OutcomeEvents(outcomes), plan.Transitions(before, status, l.Memory.Primary)
	if r.isEnding(ctx, l, append(done, turned...), outcomes) {
		l.known.ending = true
		r.recollections.Remember(key, l.Valkey.UID, l.known)
		return ctrl.Result{}, nil
	}
	for _, told := range done {
		r.tell(l, told)
	}
	var err error
	changed := !apiequality.Semantic.DeepEqual(l.Valkey.Status, status)
	if changed {
		err = r.writeStatus(ctx, l, status)
	}
	l.known.memory, l.known.quiet = plan.Remember(l.Observed, decided, outcomes), ""
	if err == nil {
		for _, told := range turned {
			r.tell(l, told)
		}
		l.known.memory.Primary = status.Primary
	}
	if err == nil && !changed && decided.Quiet {
		l.known.quiet, l.known.quietAfter = l.digest(), decided.RequeueAfter
	}
	r.recollections.Remember(key, l.Valkey.UID, l.known)
	if err != nil && !isTransient(err) {
		return ctrl.Result{}, err
	}
	return ctrl.Result{RequeueAfter: next(decided, outcomes, err)}, nil
}

// isEnding tells whether the namespace is being deleted. It is asked for only where something got worse: what is left then goes by itself, and
// saying so would be noise that the API refuses.
func (r *reconciler) isEnding(ctx context.Context, l *look, told []plan.Event, outcomes []plan.Outcome) bool {
	worse := slices.ContainsFunc(told, func(event plan.Event) bool { return event.Warning }) ||
		slices.ContainsFunc(outcomes, func(outcome plan.Outcome) bool { return outcome.Err != nil })
	if !worse {
		return false
	}
	namespace := &corev1.Namespace{}
	if err := r.reader.Get(ctx, client.ObjectKey{Name: l.Valkey.Namespace}, namespace); err != nil {
		return apierrors.IsNotFound(err)
	}
	return namespace.DeletionTimestamp != nil
}

// next is when to look again.
func next(decided plan.Plan, outcomes []plan.Outcome, err error) time.Duration {
	after := decided.RequeueAfter
	for _, outcome := range outcomes {
		switch {
		case outcome.Action.Tier() > plan.TierSafe && outcome.Done():
			after = min(after, soon)
		case outcome.Skipped, outcome.Transient && !isEnd(outcome.Err):
			after = min(after, plan.Close)
		}
	}
	if err != nil && !isEnd(err) {
		after = min(after, plan.Close)
	}
	if decided.Quiet {
		return jittered(after)
	}
	return after
}

// jittered spreads the looks at many instances over time.
func jittered(d time.Duration) time.Duration {
	return d + time.Duration(rand.Int64N(int64(d)/4)) //nolint:gosec // not a secret
}

// tell makes an event. The recorder counts events of one reason about the same objects as one, so the node is named beside the Valkey.
func (r *reconciler) tell(l *look, told plan.Event) {
	kind := corev1.EventTypeNormal
	if told.Warning {
		kind = corev1.EventTypeWarning
	}
	var related runtime.Object
	if told.Node != "" {
		related = &corev1.ObjectReference{
			APIVersion: v1alpha1.SchemeGroupVersion.String(), Kind: desired.KindValkeyNode, Namespace: l.Valkey.Namespace, Name: told.Node}
	}
	r.events.Eventf(l.Valkey, related, kind, told.Reason, "Reconcile", "%s", told.Message)
}
