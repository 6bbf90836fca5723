// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package valkey

import (
	"context"
	"errors"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/valkeykube/valkeykube/pkg/controller/valkey/plan"
)

// failureFirst and failureLast bound how soon an action that failed is tried again.
const failureFirst, failureLast = time.Second, time.Minute

// act carries out the actions in order. What is only applied to the API does not depend on each other: one that fails does not stop the next,
// and a pod must come up also where the controller lacks the right to something beside it. Servers are touched only if nothing that they need
// failed, and after an action that may take something away the pass ends.
func (r *reconciler) act(ctx context.Context, l *look, decided plan.Plan) []plan.Outcome {
	outcomes := make([]plan.Outcome, 0, len(decided.Actions))
	broken := false
	for _, action := range decided.Actions {
		if broken && action.Tier() > plan.TierSafe {
			continue
		}
		outcome := r.unlessItFailed(ctx, l, action)
		apply, isApply := action.(plan.Apply)
		broken = broken || outcome.Err != nil && !(isApply && apply.Secondary)
		outcomes = append(outcomes, outcome)
	}
	return outcomes
}

// unlessItFailed carries out an action, unless it has just failed: then the old failure stands, until its time is up.
func (r *reconciler) unlessItFailed(ctx context.Context, l *look, action plan.Action) plan.Outcome {
	name := action.String()
	before, failed := l.known.failures[name]
	if failed && l.Now.Before(before.until) {
		return plan.Outcome{Action: action, Err: before.err, Foreign: errors.Is(before.err, errForeign), Repeated: true}
	}
	outcome := r.carryOut(ctx, l, action)
	outcome.Foreign = errors.Is(outcome.Err, errForeign)
	// A server that does not answer in time is tried again with growing pauses, not at once.
	outcome.Transient = isTransient(outcome.Err) || action.Tier() == plan.TierSafe && isCutShort(outcome.Err)
	if outcome.Err == nil || outcome.Transient {
		delete(l.known.failures, name)
		return outcome
	}
	if l.known.failures == nil {
		l.known.failures = map[string]failure{}
	}
	pause := min(failureFirst<<min(before.times, 10), failureLast)
	l.known.failures[name] = failure{err: outcome.Err, times: before.times + 1, until: r.now().Add(pause)}
	return outcome
}

func (r *reconciler) carryOut(ctx context.Context, l *look, action plan.Action) plan.Outcome {
	outcome := plan.Outcome{Action: action}
	switch a := action.(type) {
	case plan.Apply:
		outcome.Skipped, outcome.Err = r.apply(ctx, l, a)
	case plan.Delete:
		outcome.Err = r.remove(ctx, l, a.Kind, a.Name, a.UID)
	case plan.RemoveNode:
		outcome.Err = r.remove(ctx, l, plan.KindNode, a.Node, a.UID)
	case plan.Replace:
		outcome.Skipped, outcome.Err = r.replace(ctx, l, a)
	case plan.WritePasswords:
		outcome.Err = r.writePasswords(ctx, l, a)
	case plan.Follow:
		outcome.Skipped, outcome.Err = r.follow(ctx, l, a)
	case plan.CutOff:
		outcome.Skipped, outcome.Err = r.cutOff(ctx, l, a)
	case plan.Promote:
		r.promote(ctx, l, a, &outcome)
	case plan.HandOver:
		r.handOver(ctx, l, a, &outcome)
	}
	return outcome
}

// isTransient tells whether a failure is one of the moment: a stale look, an API that is away, an object or namespace that is going.
func isTransient(err error) bool {
	return apierrors.IsConflict(err) || apierrors.IsTooManyRequests(err) || apierrors.IsServerTimeout(err) || apierrors.IsTimeout(err) ||
		apierrors.IsServiceUnavailable(err) || apierrors.IsInternalError(err) || apierrors.IsAlreadyExists(err) || isEnd(err)
}

func isCutShort(err error) bool {
	return errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)
}

// isEnd tells whether the failure says that the object, or its namespace, is going: the garbage collector does the rest.
func isEnd(err error) bool {
	return apierrors.IsNotFound(err) || apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause)
}

func ignoreEnd(err error) error {
	if isEnd(err) {
		return nil
	}
	return err
}
