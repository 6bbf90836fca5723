// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package valkeynode

import (
	"context"
	"fmt"
	"net/http"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	"k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/valkeykube/valkeykube/pkg/apis/valkey/v1alpha1"
	"github.com/valkeykube/valkeykube/pkg/boot"
	"github.com/valkeykube/valkeykube/pkg/controller/remembered"
	"github.com/valkeykube/valkeykube/pkg/discovery"
	"github.com/valkeykube/valkeykube/pkg/naming"
	"github.com/valkeykube/valkeykube/pkg/valkeyclient"
)

const (
	controllerName = "valkeynode"
	// Retries of a pass that failed, with exponential backoff.
	retryFirst, retryLast = 200 * time.Millisecond, time.Minute
)

// Dependencies is what the controller needs beyond the manager.
type Dependencies struct {
	// AgentImage brings the agent into pods.
	AgentImage string
	// DNS of the cluster, for the agents' resolvers.
	DNS boot.DNS
	// Valkey talks to the servers.
	Valkey *valkeyclient.Client
	// Certificates says how.
	Certificates *discovery.Certificates
	// Concurrency is how many nodes are looked after at a time. A node that does not answer holds one place for a few seconds.
	Concurrency int
}

// Setup adds the controller to the manager. The manager's cache must hold the children, all of which carry naming.LabelManagedBy; what is not
// in it is looked for past it.
func Setup(mgr ctrl.Manager, deps Dependencies) error {
	r := &reconciler{
		deps:   deps,
		client: mgr.GetClient(),
		reader: mgr.GetAPIReader(),
		events: mgr.GetEventRecorder(naming.FieldManager),
		agents: &http.Client{Transport: &http.Transport{DisableKeepAlives: true}},
		now:    time.Now,
	}
	ofNode := handler.EnqueueRequestsFromMapFunc(nodeOfChild)
	err := ctrl.NewControllerManagedBy(mgr).
		Named(controllerName).
		// Our own status writes are no reason for another pass.
		For(&v1alpha1.ValkeyNode{}, builder.WithPredicates(predicate.GenerationChangedPredicate{})).
		Watches(&appsv1.StatefulSet{}, ofNode).
		Watches(&appsv1.Deployment{}, ofNode).
		Watches(&corev1.Service{}, ofNode).
		Watches(&corev1.ConfigMap{}, ofNode).
		Watches(&corev1.PersistentVolumeClaim{}, ofNode).
		Watches(&corev1.Pod{}, ofNode).
		Watches(&corev1.Secret{}, handler.EnqueueRequestsFromMapFunc(r.nodesThatMount)).
		Watches(&corev1.ConfigMap{}, handler.EnqueueRequestsFromMapFunc(r.nodesThatMount)).
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

// reconciler is the loop's state: clients, and what it remembers of each node.
type reconciler struct {
	deps   Dependencies
	client client.Client
	// reader looks past the cache.
	reader client.Reader
	events events.EventRecorder
	// agents asks the agents in the pods.
	agents        *http.Client
	now           func() time.Time
	recollections remembered.Of[recollection]
}

// nodeOfChild is the node whose label a child carries. A volume claim has no owner and must be found all the same.
func nodeOfChild(_ context.Context, child client.Object) []reconcile.Request {
	node := child.GetLabels()[naming.LabelNode]
	if node == "" {
		return nil
	}
	return []reconcile.Request{{NamespacedName: types.NamespacedName{Namespace: child.GetNamespace(), Name: node}}}
}

// nodesThatMount are the nodes whose pods use a Secret or ConfigMap that is not a node's own.
func (r *reconciler) nodesThatMount(ctx context.Context, mounted client.Object) []reconcile.Request {
	var nodes v1alpha1.ValkeyNodeList
	if err := r.client.List(ctx, &nodes, client.InNamespace(mounted.GetNamespace())); err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "list the nodes that mount an object", "namespace", mounted.GetNamespace(), "object", mounted.GetName())
		return nil
	}
	_, isSecret := mounted.(*corev1.Secret)
	var requests []reconcile.Request
	for i := range nodes.Items {
		node, name := &nodes.Items[i], mounted.GetName()
		uses := !isSecret && node.Spec.ServerConfigMapName == name ||
			isSecret && (node.Spec.UsersACLSecretName == name || node.Spec.SystemPasswordsSecretName == name)
		if uses {
			requests = append(requests, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(node)})
		}
	}
	return requests
}
