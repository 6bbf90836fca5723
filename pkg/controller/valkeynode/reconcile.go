// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package valkeynode

import (
	"context"
	"time"

	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/valkeykube/valkeykube/pkg/controller/valkeynode/plan"
)

// passTimeout bounds one pass.
const passTimeout = 30 * time.Second

// Reconcile makes one pass over a node: look, decide, act, report.
func (r *reconciler) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	ctx, cancel := context.WithTimeout(ctx, passTimeout)
	defer cancel()
	observed, err := r.observe(ctx, request.NamespacedName)
	if err != nil {
		return ctrl.Result{}, err
	}
	if observed.Node == nil {
		r.recollections.Forget(request.NamespacedName)
		return ctrl.Result{}, nil
	}
	decided := plan.Compute(observed)
	log := ctrl.LoggerFrom(ctx)
	if len(decided.Actions) > 0 {
		log.V(1).Info("plan", "actions", decided.String())
	}
	log.V(4).Info("decisions", "log", decided.Log)
	outcomes := r.act(ctx, observed, decided)
	return r.report(ctx, observed, decided, outcomes)
}
