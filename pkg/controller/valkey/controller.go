// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package valkey

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	"k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/valkeykube/valkeykube/pkg/apis/valkey/v1alpha1"
	"github.com/valkeykube/valkeykube/pkg/controller/issuance"
	"github.com/valkeykube/valkeykube/pkg/controller/remembered"
	"github.com/valkeykube/valkeykube/pkg/controller/valkey/plan"
	"github.com/valkeykube/valkeykube/pkg/discovery"
	"github.com/valkeykube/valkeykube/pkg/naming"
	"github.com/valkeykube/valkeykube/pkg/topology"
	"github.com/valkeykube/valkeykube/pkg/valkeyclient"
)

const (
	controllerName = "valkey"
	routerName     = "valkey-route"
	// retryFirst and retryLast bound the retries of a pass that failed.
	retryFirst, retryLast = 200 * time.Millisecond, 30 * time.Second
	// defaultConcurrency is how many Valkeys are looked after at a time. One that does not answer holds a place for a second, one that is
	// handed over for up to half a minute.
	defaultConcurrency = 32
)

// Dependencies is what the controller needs beyond the manager.
type Dependencies struct {
	// Environment is what the controller was started with.
	Environment plan.Environment
	// Valkey talks to servers and Sentinels.
	Valkey *valkeyclient.Client
	// Certificates says how.
	Certificates *discovery.Certificates
	// Concurrency is how many Valkeys are looked after at a time. Default 32.
	Concurrency int
}

// Setup adds the controller, the one that leads the primary's Service while a failover happens, and the watcher of the Sentinels to the
// manager. The manager's cache must hold Valkeys, ValkeyNodes, ValkeySentinels, and of everything else what carries naming.LabelManagedBy.
func Setup(mgr ctrl.Manager, deps Dependencies) error {
	if deps.Concurrency <= 0 {
		deps.Concurrency = defaultConcurrency
	}
	r := &reconciler{
		deps:   deps,
		client: mgr.GetClient(),
		reader: mgr.GetAPIReader(),
		events: mgr.GetEventRecorder(naming.FieldManager),
		now:    time.Now,
		address: func(namespace, node string) topology.Address {
			return topology.Address{Host: naming.NodeHost(node, namespace, deps.Environment.DNS.ClusterDomain), Port: naming.PortValkey}
		},
		sentinelAddress: func(set *v1alpha1.ValkeySentinel, index int) topology.Address {
			host := naming.SentinelHost(set.Name, index, set.Namespace, deps.Environment.DNS.ClusterDomain)
			return topology.Address{Host: host, Port: naming.PortSentinel}
		},
	}
	r.issuance = &issuance.Desk{Cache: r.client, API: r.reader, Now: r.now}
	r.routes.client = r.client
	switches := make(chan event.GenericEvent)
	if err := r.setup(mgr); err != nil {
		return fmt.Errorf("set up controller %s: %w", controllerName, err)
	}
	err := ctrl.NewControllerManagedBy(mgr).
		Named(routerName).
		WatchesRawSource(source.Channel(switches, &handler.EnqueueRequestForObject{})).
		WithOptions(controller.Options{MaxConcurrentReconciles: deps.Concurrency, RateLimiter: rateLimiter()}).
		Complete(reconcile.Func(r.route))
	if err != nil {
		return fmt.Errorf("set up controller %s: %w", routerName, err)
	}
	return mgr.Add(&watcher{r: r, switches: switches})
}

func (r *reconciler) setup(mgr ctrl.Manager) error {
	owned := handler.EnqueueRequestForOwner(mgr.GetScheme(), mgr.GetRESTMapper(), &v1alpha1.Valkey{}, handler.OnlyControllerOwner())
	return ctrl.NewControllerManagedBy(mgr).
		Named(controllerName).
		For(&v1alpha1.Valkey{}, builder.WithPredicates(predicate.Funcs{UpdateFunc: isAsked})).
		Watches(&v1alpha1.ValkeyNode{}, owned).
		Watches(&corev1.ConfigMap{}, owned).
		Watches(&corev1.Service{}, owned).
		Watches(&discoveryv1.EndpointSlice{}, owned).
		Watches(&policyv1.PodDisruptionBudget{}, owned).
		Watches(&networkingv1.NetworkPolicy{}, owned).
		Watches(&rbacv1.Role{}, owned).
		Watches(&rbacv1.RoleBinding{}, owned).
		Watches(&corev1.Pod{}, handler.EnqueueRequestsFromMapFunc(valkeyOfPod)).
		Watches(&corev1.Secret{}, handler.EnqueueRequestsFromMapFunc(r.valkeysOfSecret)).
		Watches(&v1alpha1.ValkeySentinel{}, handler.EnqueueRequestsFromMapFunc(r.valkeysOfNamespace),
			builder.WithPredicates(predicate.Or(predicate.GenerationChangedPredicate{}, predicate.Funcs{UpdateFunc: hasMoved}))).
		WithOptions(controller.Options{MaxConcurrentReconciles: r.deps.Concurrency, RateLimiter: rateLimiter()}).
		Complete(r)
}

func rateLimiter() workqueue.TypedRateLimiter[reconcile.Request] {
	return workqueue.NewTypedItemExponentialFailureRateLimiter[reconcile.Request](retryFirst, retryLast)
}

// isAsked tells whether an update of a Valkey asks for something: our own status writes do not.
func isAsked(update event.UpdateEvent) bool {
	before, wasValkey := update.ObjectOld.(*v1alpha1.Valkey)
	after, isValkey := update.ObjectNew.(*v1alpha1.Valkey)
	return !wasValkey || !isValkey ||
		before.Generation != after.Generation ||
		(before.DeletionTimestamp == nil) != (after.DeletionTimestamp == nil) ||
		!apiequality.Semantic.DeepEqual(before.Labels, after.Labels) ||
		!apiequality.Semantic.DeepEqual(before.Annotations, after.Annotations) ||
		!apiequality.Semantic.DeepEqual(before.Status.Operation, after.Status.Operation)
}

// hasMoved tells whether a ValkeySentinel has come further on its way between plaintext and TLS, on which its Valkeys go along.
func hasMoved(update event.UpdateEvent) bool {
	before, wasSet := update.ObjectOld.(*v1alpha1.ValkeySentinel)
	after, isSet := update.ObjectNew.(*v1alpha1.ValkeySentinel)
	if !wasSet || !isSet {
		return false
	}
	encrypted := func(set *v1alpha1.ValkeySentinel) *metav1.Condition {
		return meta.FindStatusCondition(set.Status.Conditions, v1alpha1.ConditionEncrypted)
	}
	return !apiequality.Semantic.DeepEqual(encrypted(before), encrypted(after))
}

// valkeyOfPod is the Valkey whose label a pod carries.
func valkeyOfPod(_ context.Context, pod client.Object) []reconcile.Request {
	name := pod.GetLabels()[naming.LabelValkey]
	if name == "" {
		return nil
	}
	return []reconcile.Request{{NamespacedName: types.NamespacedName{Namespace: pod.GetNamespace(), Name: name}}}
}

// valkeysOfSecret are the Valkeys that a Secret of ours is about: its owner, or all that could be monitored by the set it belongs to.
func (r *reconciler) valkeysOfSecret(ctx context.Context, secret client.Object) []reconcile.Request {
	labels := secret.GetLabels()
	if name := labels[naming.LabelValkey]; name != "" {
		return []reconcile.Request{{NamespacedName: types.NamespacedName{Namespace: secret.GetNamespace(), Name: name}}}
	}
	if labels[naming.LabelSentinel] == "" {
		return nil
	}
	return r.valkeysOfNamespace(ctx, secret)
}

// valkeysOfNamespace are the Valkeys beside the object that Sentinels may monitor.
func (r *reconciler) valkeysOfNamespace(ctx context.Context, object client.Object) []reconcile.Request {
	var valkeys v1alpha1.ValkeyList
	if err := r.client.List(ctx, &valkeys, client.InNamespace(object.GetNamespace())); err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "list the Valkeys beside an object", "namespace", object.GetNamespace(), "object", object.GetName())
		return nil
	}
	var requests []reconcile.Request
	for i := range valkeys.Items {
		if valkeys.Items[i].Spec.Failover.Mode == v1alpha1.FailoverModeSentinel {
			requests = append(requests, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(&valkeys.Items[i])})
		}
	}
	return requests
}

// reconciler is the loop's state: clients, and what it remembers of each Valkey.
type reconciler struct {
	deps   Dependencies
	client client.Client
	// reader looks past the cache.
	reader client.Reader
	events events.EventRecorder
	now    func() time.Time
	// address is where a node is for its peers. It is that of its pod below its governing Service, except in tests.
	address func(namespace, node string) topology.Address
	// sentinelAddress is the same for the Sentinel with this index.
	sentinelAddress func(set *v1alpha1.ValkeySentinel, index int) topology.Address
	routes          routes
	issuance        *issuance.Desk
	userSecrets
	expectations
	recollections remembered.Of[recollection]
}
