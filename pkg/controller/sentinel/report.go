// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package sentinel

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/valkeykube/valkeykube/pkg/apis/valkey/v1alpha1"
	"github.com/valkeykube/valkeykube/pkg/controller/sentinel/plan"
	valkeyv1alpha1ac "github.com/valkeykube/valkeykube/pkg/generated/applyconfiguration/valkey/v1alpha1"
	"github.com/valkeykube/valkeykube/pkg/naming"
)

// report writes the status once, if it changed, tells what was done and what has changed, and says when to look again.
func (r *reconciler) report(ctx context.Context, o observation, decided plan.Plan, outcomes []plan.Outcome) (ctrl.Result, error) {
	if o.Terminating {
		return ctrl.Result{}, nil
	}
	key := client.ObjectKeyFromObject(o.Set)
	known := r.recall(o.Set)
	known.memory, known.settled = plan.Learn(o.Observed, decided, outcomes), decided.Settled
	status := plan.Status(o.Observed, decided, outcomes, known.memory)
	var failed []error
	if !apiequality.Semantic.DeepEqual(o.Set.Status, status) {
		if err := r.writeStatus(ctx, o.Set, status); err != nil {
			failed = append(failed, err)
		} else {
			known.status, known.seenVersion = &status, o.Set.ResourceVersion
			r.tellTransitions(o.Set, status)
		}
	}
	r.recollections.Remember(key, o.Set.UID, known)
	r.tellOutcomes(o.Set, outcomes)
	for _, outcome := range outcomes {
		// What a Sentinel did not take is seen in the next look, and what the API has refused stays refused: neither must slow the set down.
		if _, toSentinel := plan.SentinelOf(outcome.Action); outcome.Err != nil && !toSentinel && !isRefusal(outcome.Err) {
			failed = append(failed, outcome.Err)
		}
	}
	if err := ignoreEnd(errors.Join(failed...)); err != nil {
		return ctrl.Result{}, err
	}
	return ctrl.Result{RequeueAfter: decided.RequeueAfter}, nil
}

// ignoreEnd drops errors of a set, or a namespace, that went away under the pass: the garbage collector does the rest.
func ignoreEnd(err error) error {
	if isEnd(err) {
		return nil
	}
	return err
}

func isEnd(err error) bool {
	return apierrors.IsNotFound(err) || apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause)
}

func (r *reconciler) writeStatus(ctx context.Context, set *v1alpha1.ValkeySentinel, status v1alpha1.ValkeySentinelStatus) error {
	text, err := json.Marshal(status)
	if err != nil {
		return err
	}
	applied := valkeyv1alpha1ac.ValkeySentinelStatus()
	if err := json.Unmarshal(text, applied); err != nil {
		return err
	}
	// The uid keeps the status of this set from another one of the same name.
	want := valkeyv1alpha1ac.ValkeySentinel(set.Name, set.Namespace).WithUID(set.UID).WithStatus(applied)
	err = r.client.SubResource("status").Apply(ctx, want, client.FieldOwner(naming.FieldManager), client.ForceOwnership)
	if err != nil {
		return fmt.Errorf("write the status of ValkeySentinel %s: %w", set.Name, err)
	}
	return nil
}
