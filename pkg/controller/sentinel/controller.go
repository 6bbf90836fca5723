// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package sentinel

import (
	"context"
	"crypto/x509"
	"fmt"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
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

	"github.com/valkeykube/valkeykube/pkg/apis/valkey/v1alpha1"
	"github.com/valkeykube/valkeykube/pkg/boot"
	"github.com/valkeykube/valkeykube/pkg/controller/issuance"
	"github.com/valkeykube/valkeykube/pkg/controller/remembered"
	"github.com/valkeykube/valkeykube/pkg/discovery"
	"github.com/valkeykube/valkeykube/pkg/inspect"
	"github.com/valkeykube/valkeykube/pkg/naming"
	"github.com/valkeykube/valkeykube/pkg/valkeyclient"
)

const (
	controllerName = "valkeysentinel"
	// Retries of a pass that failed, with exponential backoff.
	retryFirst, retryLast = 200 * time.Millisecond, time.Minute
)

// Dependencies is what the controller needs beyond the manager.
type Dependencies struct {
	// AgentImage brings the agent into pods.
	AgentImage string
	// DNS of the cluster, for the agents' resolvers.
	DNS boot.DNS
	// SystemNamespace is where the controller and the API server run.
	SystemNamespace string
	// Valkey talks to servers and Sentinels; *valkeyclient.Client does.
	Valkey inspect.Clients
	// Certificates says how, and Handshakes shows which certificate is served; *valkeyclient.Client does.
	Certificates *discovery.Certificates
	Handshakes   Handshakes
	// Concurrency is how many sets are looked after at a time. One whose Sentinels do not answer holds one place for a second or two.
	Concurrency int
}

// Handshakes asks a process for its certificate.
type Handshakes interface {
	ServedCertificate(ctx context.Context, target valkeyclient.Target) (*x509.Certificate, error)
}

// Setup adds the controller to the manager. The manager's cache must hold the children, all of which carry naming.LabelManagedBy, and all
// Valkeys, ValkeyNodes and ValkeySentinels; what is not in it is looked for past it.
func Setup(mgr ctrl.Manager, deps Dependencies) error {
	r := &reconciler{
		deps:   deps,
		client: mgr.GetClient(),
		reader: mgr.GetAPIReader(),
		events: mgr.GetEventRecorder(naming.FieldManager),
		now:    time.Now,
		places: clusterPlaces{domain: deps.DNS.ClusterDomain},
	}
	r.issuance = &issuance.Desk{Cache: r.client, API: r.reader, Now: r.now}
	ofSet := handler.EnqueueRequestsFromMapFunc(setOfChild)
	ofNamespace := handler.EnqueueRequestsFromMapFunc(r.setsOfNamespace)
	err := ctrl.NewControllerManagedBy(mgr).
		Named(controllerName).
		// Our own status writes are no reason for another pass.
		For(&v1alpha1.ValkeySentinel{}, builder.WithPredicates(predicate.GenerationChangedPredicate{})).
		// A set that comes, goes, selects other Valkeys or has let go of one concerns the others.
		Watches(&v1alpha1.ValkeySentinel{}, ofNamespace, builder.WithPredicates(monitorsChanged{})).
		Watches(&v1alpha1.Valkey{}, ofNamespace, builder.WithPredicates(predicate.ResourceVersionChangedPredicate{})).
		Watches(&v1alpha1.ValkeyNode{}, ofNamespace, builder.WithPredicates(comesAndGoes())).
		Watches(&appsv1.StatefulSet{}, ofSet).
		Watches(&corev1.Service{}, ofSet).
		Watches(&policyv1.PodDisruptionBudget{}, ofSet).
		Watches(&networkingv1.NetworkPolicy{}, ofSet).
		Watches(&rbacv1.Role{}, ofSet).
		Watches(&rbacv1.RoleBinding{}, ofSet).
		Watches(&corev1.Pod{}, ofSet).
		Watches(&corev1.Secret{}, handler.EnqueueRequestsFromMapFunc(r.setsOfSecret)).
		WithOptions(controller.Options{
			MaxConcurrentReconciles: deps.Concurrency,
			RateLimiter:             workqueue.NewTypedItemExponentialFailureRateLimiter[reconcile.Request](retryFirst, retryLast),
		}).
		Complete(r)
	if err != nil {
		return fmt.Errorf("set up controller %s: %w", controllerName, err)
	}
	return nil
}

// reconciler is the loop's state: clients, and what it remembers of each set.
type reconciler struct {
	deps   Dependencies
	client client.Client
	// reader looks past the cache.
	reader        client.Reader
	events        events.EventRecorder
	now           func() time.Time
	places        places
	issuance      *issuance.Desk
	recollections remembered.Of[recollection]
}

// monitorsChanged lets through what other sets of the namespace have to know of a ValkeySentinel.
type monitorsChanged struct{ predicate.Funcs }

// Update of the spec, or of what the status says is monitored.
func (monitorsChanged) Update(e event.UpdateEvent) bool {
	before, wasSet := e.ObjectOld.(*v1alpha1.ValkeySentinel)
	after, isSet := e.ObjectNew.(*v1alpha1.ValkeySentinel)
	return wasSet && isSet && (before.Generation != after.Generation || !apiequality.Semantic.DeepEqual(names(before), names(after)))
}

// names are the monitors that a set says it holds somewhere.
func names(set *v1alpha1.ValkeySentinel) []string {
	var held []string
	for _, monitor := range set.Status.Monitors {
		if monitor.RegisteredOn > 0 {
			held = append(held, monitor.Valkey)
		}
	}
	return held
}

// comesAndGoes lets through that an object exists or not.
func comesAndGoes() predicate.Predicate {
	return predicate.Funcs{UpdateFunc: func(event.UpdateEvent) bool { return false }}
}

// setOfChild is the set whose label a child carries.
func setOfChild(_ context.Context, child client.Object) []reconcile.Request {
	set := child.GetLabels()[naming.LabelSentinel]
	if set == "" {
		return nil
	}
	return []reconcile.Request{{NamespacedName: types.NamespacedName{Namespace: child.GetNamespace(), Name: set}}}
}

// setsOfSecret are the set whose child the Secret is, or all sets that may monitor the Valkey whose child it is.
func (r *reconciler) setsOfSecret(ctx context.Context, secret client.Object) []reconcile.Request {
	if valkey := secret.GetLabels()[naming.LabelValkey]; valkey != "" && secret.GetName() == naming.SystemPasswordsSecret(valkey) {
		return r.setsOfNamespace(ctx, secret)
	}
	return setOfChild(ctx, secret)
}

// setsOfNamespace are all sets of the object's namespace.
func (r *reconciler) setsOfNamespace(ctx context.Context, object client.Object) []reconcile.Request {
	var sets v1alpha1.ValkeySentinelList
	if err := r.client.List(ctx, &sets, client.InNamespace(object.GetNamespace())); err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "list the ValkeySentinels of a namespace", "namespace", object.GetNamespace())
		return nil
	}
	var requests []reconcile.Request
	for i := range sets.Items {
		requests = append(requests, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(&sets.Items[i])})
	}
	return requests
}
