// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package valkey

import (
	"context"
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
