// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"context"
	"sync"
	"time"

	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	toolscache "k8s.io/client-go/tools/cache"
	ctrl "sigs.k8s.io/controller-runtime"
)

// askAgain is after how long a right that was missing is tried again.
const askAgain = time.Minute

// newInformer is an informer that, for kinds which the product can do without, takes a missing right for an empty list. Otherwise its cache
// would never fill, and no controller would ever start, for want of a right on budgets or network policies.
func newInformer(from toolscache.ListerWatcher, example runtime.Object, resync time.Duration, indexers toolscache.Indexers) toolscache.SharedIndexInformer {
	switch none := (metav1.ListMeta{ResourceVersion: "0"}); example.(type) {
	case *policyv1.PodDisruptionBudget:
		from = without(from, "PodDisruptionBudget", &policyv1.PodDisruptionBudgetList{ListMeta: none})
	case *networkingv1.NetworkPolicy:
		from = without(from, "NetworkPolicy", &networkingv1.NetworkPolicyList{ListMeta: none})
	}
	return toolscache.NewSharedIndexInformer(from, example, resync, indexers)
}

// optional lists and watches a kind that may be forbidden.
type optional struct {
	lister toolscache.ListerWatcherWithContext
	kind   string
	empty  runtime.Object
	told   sync.Once
}

func without(from toolscache.ListerWatcher, kind string, empty runtime.Object) *optional {
	return &optional{lister: toolscache.ToListerWatcherWithContext(from), kind: kind, empty: empty}
}

// IsWatchListSemanticsUnSupported keeps the reflector from listing by a watch, which it could not tell from one that is forbidden.
func (*optional) IsWatchListSemanticsUnSupported() bool { return true }

// List is ListWithContext.
func (o *optional) List(options metav1.ListOptions) (runtime.Object, error) {
	return o.ListWithContext(context.Background(), options)
}

// Watch is WatchWithContext.
func (o *optional) Watch(options metav1.ListOptions) (watch.Interface, error) {
	return o.WatchWithContext(context.Background(), options)
}

// ListWithContext is empty where listing is forbidden.
func (o *optional) ListWithContext(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
	found, err := o.lister.ListWithContext(ctx, options)
	if !apierrors.IsForbidden(err) {
		return found, err
	}
	o.told.Do(func() {
		ctrl.Log.Info("no right to list; the product does without until it is granted", "kind", o.kind, "error", err.Error())
	})
	return o.empty.DeepCopyObject(), nil
}

// WatchWithContext is silent where watching is forbidden, and ends after a while, so that it is tried again.
func (o *optional) WatchWithContext(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
	watcher, err := o.lister.WatchWithContext(ctx, options)
	if !apierrors.IsForbidden(err) {
		return watcher, err
	}
	silent := watch.NewFake()
	time.AfterFunc(askAgain, silent.Stop)
	return silent, nil
}
