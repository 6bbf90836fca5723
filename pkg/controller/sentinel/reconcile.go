// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package sentinel

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/valkeykube/valkeykube/pkg/controller/sentinel/plan"
)

// passTimeout bounds one pass.
const passTimeout = 30 * time.Second

// Reconcile makes one pass over a set: look, decide, act, report.
func (r *reconciler) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	ctx, cancel := context.WithTimeout(ctx, passTimeout)
	defer cancel()
	observed, err := r.observe(ctx, request.NamespacedName)
	if err != nil {
		return ctrl.Result{}, err
	}
	if observed.Set == nil {
		r.recollections.Forget(request.NamespacedName)
		r.issuance.Forget(request.NamespacedName)
		return ctrl.Result{}, nil
	}
	decided := plan.Compute(observed.Observed)
	if len(decided.Actions) > 0 {
		// Asked only then: it costs a request, and the cache holds no namespaces.
		if observed.Terminating, err = r.isTerminating(ctx, request.Namespace); err != nil {
			return ctrl.Result{}, err
		}
		if observed.Terminating {
			decided = plan.Compute(observed.Observed)
		}
	}
	log := ctrl.LoggerFrom(ctx)
	if len(decided.Actions) > 0 {
		log.V(1).Info("plan", "actions", decided.String())
	}
	log.V(4).Info("decisions", "log", decided.Log)
	outcomes := r.act(ctx, observed, decided)
	return r.report(ctx, observed, decided, outcomes)
}

// isTerminating tells whether a namespace is being deleted: nothing may be made in it then.
func (r *reconciler) isTerminating(ctx context.Context, name string) (bool, error) {
	namespace := &corev1.Namespace{}
	if err := r.reader.Get(ctx, types.NamespacedName{Name: name}, namespace); err != nil {
		return apierrors.IsNotFound(err), client.IgnoreNotFound(err)
	}
	return namespace.DeletionTimestamp != nil, nil
}
