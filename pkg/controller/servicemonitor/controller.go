// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package servicemonitor

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/valkeykube/valkeykube/pkg/apis/valkey/v1alpha1"
	"github.com/valkeykube/valkeykube/pkg/desired"
	"github.com/valkeykube/valkeykube/pkg/naming"
)

const (
	// lookAgain is how often one that is wanted is looked at: nothing tells when the CRD comes, or when somebody changes the object.
	lookAgain = 5 * time.Minute
	// lookAgainWithout is how often the CRD is looked for while it is missed.
	lookAgainWithout = time.Minute
)

// reconciler keeps the ServiceMonitors of one kind. They are read past the cache, which cannot hold what may not exist.
type reconciler struct {
	client client.Client
	reader client.Reader
	events events.EventRecorder
	// blank is an owner to read into, want what it asks for, and name what its ServiceMonitor is called.
	blank func() client.Object
	want  func(owner client.Object) *unstructured.Unstructured
	name  func(owner string) string
}

// Setup adds a controller for each kind to the manager.
func Setup(mgr ctrl.Manager) error {
	common := reconciler{client: mgr.GetClient(), reader: mgr.GetAPIReader(), events: mgr.GetEventRecorder(naming.FieldManager)}
	valkeys, sentinels := common.ofValkeys(), common.ofSentinels()
	for name, r := range map[string]*reconciler{"servicemonitor-valkey": valkeys, "servicemonitor-valkeysentinel": sentinels} {
		err := ctrl.NewControllerManagedBy(mgr).Named(name).
			For(r.blank(), builder.WithPredicates(predicate.GenerationChangedPredicate{})).
			Complete(r)
		if err != nil {
			return fmt.Errorf("set up controller %s: %w", name, err)
		}
	}
	return nil
}

func (r reconciler) ofValkeys() *reconciler {
	r.blank = func() client.Object { return &v1alpha1.Valkey{} }
	r.want = func(owner client.Object) *unstructured.Unstructured {
		return desired.ValkeyServiceMonitor(owner.(*v1alpha1.Valkey))
	}
	r.name = naming.ValkeyService
	return &r
}

func (r reconciler) ofSentinels() *reconciler {
	r.blank = func() client.Object { return &v1alpha1.ValkeySentinel{} }
	r.want = func(owner client.Object) *unstructured.Unstructured {
		return desired.SentinelServiceMonitor(owner.(*v1alpha1.ValkeySentinel))
	}
	r.name = naming.SentinelWorkload
	return &r
}

// Reconcile makes the ServiceMonitor that is asked for, or removes the one that no longer is.
func (r *reconciler) Reconcile(ctx context.Context, request ctrl.Request) (reconcile.Result, error) {
	owner := r.blank()
	if err := r.client.Get(ctx, request.NamespacedName, owner); err != nil {
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	if owner.GetDeletionTimestamp() != nil {
		return reconcile.Result{}, nil
	}
	want := r.want(owner)
	live := &unstructured.Unstructured{}
	live.SetGroupVersionKind(desired.ServiceMonitorKind)
	err := r.reader.Get(ctx, client.ObjectKey{Namespace: owner.GetNamespace(), Name: r.name(owner.GetName())}, live)
	switch {
	case meta.IsNoMatchError(err):
		return r.withoutKind(owner, want != nil), nil
	case apierrors.IsNotFound(err):
		live = nil
	case err != nil:
		return reconcile.Result{}, fmt.Errorf("look at the ServiceMonitor: %w", err)
	}
	switch {
	case live != nil && !desired.IsOwnedBy(live, owner):
		if want == nil {
			return reconcile.Result{}, nil
		}
		r.events.Eventf(owner, nil, corev1.EventTypeWarning, v1alpha1.EventForeignObject, "Reconcile",
			"ServiceMonitor %s exists and belongs to somebody else; it is left alone", live.GetName())
		return reconcile.Result{RequeueAfter: lookAgain}, nil
	case want == nil && live != nil:
		uid := live.GetUID()
		return reconcile.Result{}, client.IgnoreNotFound(r.client.Delete(ctx, live, client.Preconditions{UID: &uid}))
	case want == nil:
		return reconcile.Result{}, nil
	case live == nil || !desired.Holds(live.Object, want.Object):
		apply := client.ApplyConfigurationFromUnstructured(want)
		if err := r.client.Apply(ctx, apply, client.FieldOwner(naming.FieldManager), client.ForceOwnership); err != nil {
			return reconcile.Result{}, fmt.Errorf("apply the ServiceMonitor: %w", err)
		}
	}
	return reconcile.Result{RequeueAfter: lookAgain}, nil
}

// withoutKind is what is done in a cluster that has no ServiceMonitors: who asks for one is told.
func (r *reconciler) withoutKind(owner client.Object, isWanted bool) reconcile.Result {
	if !isWanted {
		return reconcile.Result{}
	}
	r.events.Eventf(owner, nil, corev1.EventTypeWarning, v1alpha1.EventConfigurationWarning, "Reconcile",
		"spec.exporter.serviceMonitor: the cluster has no kind %s; it is made once there is", desired.ServiceMonitorKind.GroupKind())
	return reconcile.Result{RequeueAfter: lookAgainWithout}
}
