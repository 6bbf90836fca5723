// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package valkey

import (
	"context"
	"slices"
	"time"

	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/valkeykube/valkeykube/pkg/controller/valkey/plan"
)

const (
	// switchPatience is how long each process is waited for while a failover happens: the dead primary must not hold up its successor.
	switchPatience = 100 * time.Millisecond
	// switchRetry and switchGiveUp say how often, and for how long, a switch is looked at again until a primary is certain. Then the full
	// passes, which are due every second while one is not, go on alone.
	switchRetry  = 50 * time.Millisecond
	switchGiveUp = 3 * time.Second
)

// changedPrimary tells whether the primary was changed in this pass.
func changedPrimary(outcomes []plan.Outcome) bool {
	return slices.ContainsFunc(outcomes, func(outcome plan.Outcome) bool {
		switch outcome.Action.(type) {
		case plan.Promote, plan.HandOver:
			return outcome.Done()
		}
		return false
	})
}

// followChange leads the primary's Service to a primary that we have just made one.
func (r *reconciler) followChange(ctx context.Context, request ctrl.Request) {
	r.expectSwitch(request.NamespacedName, r.now())
	for {
		result, err := r.route(ctx, request)
		if err != nil || result.RequeueAfter == 0 {
			return // the full pass comes at once
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(result.RequeueAfter):
		}
	}
}

// route leads the primary's Service to a new primary at once, when a Sentinel has told of one: a look with little patience, and one write.
// Everything else is left to the full pass, which may be busy meanwhile.
func (r *reconciler) route(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	l, err := r.observe(ctx, request.NamespacedName, switchPatience)
	if err != nil || l.Valkey == nil || l.Terminating {
		return ctrl.Result{}, err
	}
	verdict := plan.Judge(l.Observed)
	if !verdict.Confirmed {
		if r.waitsForSwitch(request.NamespacedName, l.began) {
			return ctrl.Result{RequeueAfter: switchRetry}, nil
		}
		return ctrl.Result{}, nil
	}
	r.switched(request.NamespacedName)
	for _, action := range plan.Endpoints(&l.Observed, verdict) {
		apply, ok := action.(plan.Apply)
		if !ok || apply.Creates {
			continue // rare, and the full pass's
		}
		skipped, err := r.routes.apply(ctx, request.NamespacedName, l.began, apply)
		if err != nil {
			return ctrl.Result{}, ignoreEnd(err)
		}
		if !skipped {
			ctrl.LoggerFrom(ctx).Info("the primary's Service leads to another node", "primary", verdict.Node, "took", r.now().Sub(l.began).String())
		}
	}
	return ctrl.Result{}, nil
}
