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
	// passTimeout bounds one pass, in which one hand-over may take place.
	passTimeout = 60 * time.Second
	// patience is how long each process is waited for in a look.
	patience = time.Second
)

// Reconcile makes one pass over a Valkey: look, decide, act, report.
func (r *reconciler) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	ctx, cancel := context.WithTimeout(ctx, passTimeout)
	defer cancel()
	l, err := r.observe(ctx, request.NamespacedName, patience)
	if err != nil {
		return ctrl.Result{}, err
	}
	if l.Valkey == nil {
		r.recollections.Forget(request.NamespacedName)
		r.routes.forget(request.NamespacedName)
		r.issuance.Forget(request.NamespacedName)
		return ctrl.Result{}, nil
	}
	if l.Terminating {
		return ctrl.Result{}, nil
	}
	if digest := l.digest(); digest == l.known.quiet {
		return ctrl.Result{RequeueAfter: jittered(l.known.quietAfter)}, nil
	}
	decided := plan.Compute(l.Observed)
	log := ctrl.LoggerFrom(ctx)
	if len(decided.Actions) > 0 {
		log.V(1).Info("plan", "plan", decided.String())
	}
	log.V(4).Info("decisions", "trace", decided.Trace)
	outcomes := r.act(ctx, l, decided)
	result, err := r.report(ctx, l, decided, outcomes)
	if changedPrimary(outcomes) {
		// The next full look may wait for a primary that is dead; clients should not.
		r.followChange(ctx, request)
	}
	return result, err
}
