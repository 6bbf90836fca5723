// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package valkey

import (
	"context"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/valkeykube/valkeykube/pkg/apis/valkey/v1alpha1"
	"github.com/valkeykube/valkeykube/pkg/controller/valkey/plan"
	"github.com/valkeykube/valkeykube/pkg/desired"
	"github.com/valkeykube/valkeykube/pkg/naming"
	"github.com/valkeykube/valkeykube/pkg/selection"
	"github.com/valkeykube/valkeykube/pkg/valkeyclient"
)

// look is one observation in the making.
type look struct {
	plan.Observed
	// began is when it was begun: what it shows is at least as new as that.
	began time.Time
	// nodePassword and sentinelPassword log the controller in to the servers and to the Sentinels.
	nodePassword, sentinelPassword string
	// encryption is how each node's server and each Sentinel is spoken to, by name.
	encryption map[string]valkeyclient.Encryption
	// sentinelPods by name.
	sentinelPods map[string]*corev1.Pod
	known        recollection
}

// observe reads what the cache holds of a Valkey and asks its servers and Sentinels. Without the Valkey itself Valkey is nil.
func (r *reconciler) observe(ctx context.Context, key types.NamespacedName, patience time.Duration) (*look, error) {
	l := &look{began: r.now()}
	cached := &v1alpha1.Valkey{}
	if err := r.client.Get(ctx, key, cached); err != nil {
		return l, client.IgnoreNotFound(err)
	}
	l.known, _ = r.recollections.Recall(key, cached.UID)
	l.Valkey = l.known.current(cached)
	l.Environment, l.Memory, l.Now = r.deps.Environment, l.known.memory, r.now()
	if l.Valkey.DeletionTimestamp != nil || l.known.ending {
		l.Terminating = true
		return l, nil
	}
	for _, part := range []func(context.Context, *look) error{r.observeObjects, r.observeNodes, r.observeMonitoring, r.observeEncryption} {
		if err := part(ctx, l); err != nil {
			return l, fmt.Errorf("observe %s: %w", key, err)
		}
	}
	l.Snapshot = r.ask(ctx, l, patience)
	l.Served = r.served(ctx, l)
	l.Now = r.now()
	return l, nil
}

func (r *reconciler) observeObjects(ctx context.Context, l *look) error {
	name, objects := l.Valkey.Name, &l.Objects
	cache := cacheReader{r: r, namespace: l.Valkey.Namespace}
	objects.Passwords = get(ctx, &cache, naming.SystemPasswordsSecret(name), &corev1.Secret{})
	objects.PasswordsCopy = get(ctx, &cache, naming.SystemPasswordsCopy(name), &corev1.Secret{})
	objects.ACL = get(ctx, &cache, naming.ACLSecret(name), &corev1.Secret{})
	objects.Config = get(ctx, &cache, naming.ServerConfigMap(name), &corev1.ConfigMap{})
	objects.Service = get(ctx, &cache, naming.ValkeyService(name), &corev1.Service{})
	objects.Primary = get(ctx, &cache, naming.PrimaryService(name), &corev1.Service{})
	objects.Replicas = get(ctx, &cache, naming.ReplicasService(name), &corev1.Service{})
	objects.Endpoints = get(ctx, &cache, naming.PrimaryEndpointSlice(name), &discoveryv1.EndpointSlice{})
	objects.Budget = get(ctx, &cache, naming.ValkeyPDB(name), &policyv1.PodDisruptionBudget{})
	objects.NetworkPolicy = get(ctx, &cache, naming.ValkeyNetworkPolicy(name), &networkingv1.NetworkPolicy{})
	objects.Role = get(ctx, &cache, naming.APIServerRole(name), &rbacv1.Role{})
	objects.RoleBinding = get(ctx, &cache, naming.APIServerRole(name), &rbacv1.RoleBinding{})
	if cache.err != nil {
		return cache.err
	}
	if objects.Passwords != nil {
		l.nodePassword = string(objects.Passwords.Data[naming.UserOperator])
	}
	if l.nodePassword == "" {
		l.nodePassword = string(l.Memory.Passwords[naming.UserOperator])
	}
	var err error
	objects.UserSecrets, err = r.userSecrets.read(ctx, r.reader, l.Valkey, l.began)
	return err
}

// cacheReader reads from the cache and keeps the first error.
type cacheReader struct {
	r         *reconciler
	namespace string
	err       error
}

// get is the object as cached, or nil. What somebody else made under the name may be missing from the cache: see makeSure.
func get[T client.Object](ctx context.Context, cache *cacheReader, name string, object T) T {
	var none T
	if cache.err != nil {
		return none
	}
	err := cache.r.client.Get(ctx, types.NamespacedName{Namespace: cache.namespace, Name: name}, object)
	switch {
	case apierrors.IsNotFound(err):
		return none
	case err != nil:
		cache.err = fmt.Errorf("look at %T %s: %w", object, name, err)
		return none
	}
	return object
}

// observeNodes finds the nodes and their pods. They are the cache's own and must not be changed.
func (r *reconciler) observeNodes(ctx context.Context, l *look) error {
	valkey := l.Valkey
	var nodes v1alpha1.ValkeyNodeList
	ours := client.MatchingLabels{naming.LabelValkey: valkey.Name}
	if err := r.client.List(ctx, &nodes, client.InNamespace(valkey.Namespace), ours, client.UnsafeDisableDeepCopy); err != nil {
		return fmt.Errorf("list the nodes: %w", err)
	}
	var pods corev1.PodList
	ours = naming.ValkeySelector(valkey.Name)
	if err := r.client.List(ctx, &pods, client.InNamespace(valkey.Namespace), ours, client.UnsafeDisableDeepCopy); err != nil {
		return fmt.Errorf("list the pods: %w", err)
	}
	byNode := map[string]*corev1.Pod{}
	for i := range pods.Items {
		pod := &pods.Items[i]
		if other := byNode[pod.Labels[naming.LabelNode]]; other == nil || newer(pod, other) {
			byNode[pod.Labels[naming.LabelNode]] = pod
		}
	}
	for i := range nodes.Items {
		node := &nodes.Items[i]
		if index, named := naming.NodeIndex(valkey.Name, node.Name); named && desired.IsOwnedBy(node, valkey) {
			l.Nodes = append(l.Nodes, plan.Node{Index: index, Object: node, Pod: byNode[node.Name]})
			delete(byNode, node.Name)
		}
	}
	if err := r.observeUnlabelledNodes(ctx, l, byNode); err != nil {
		return err
	}
	slices.SortFunc(l.Nodes, func(a, b plan.Node) int { return a.Index - b.Index })
	for node, pod := range byNode {
		if !slices.Contains(l.Objects.ForeignNodes, node) {
			l.Leaving = append(l.Leaving, pod)
		}
	}
	slices.SortFunc(l.Leaving, func(a, b *corev1.Pod) int { return byName(a.Name, b.Name) })
	return nil
}

// observeUnlabelledNodes finds wanted nodes that exist and do not carry our label: somebody else's, or ours that have lost it.
func (r *reconciler) observeUnlabelledNodes(ctx context.Context, l *look, pods map[string]*corev1.Pod) error {
	cache := cacheReader{r: r, namespace: l.Valkey.Namespace}
	for index := range int(l.Valkey.Spec.Replicas) + 1 {
		if slices.ContainsFunc(l.Nodes, func(n plan.Node) bool { return n.Index == index }) {
			continue
		}
		name := naming.NodeName(l.Valkey.Name, index)
		node := get(ctx, &cache, name, &v1alpha1.ValkeyNode{})
		switch {
		case node == nil:
		case desired.IsOwnedBy(node, l.Valkey):
			l.Nodes = append(l.Nodes, plan.Node{Index: index, Object: node, Pod: pods[name]})
			delete(pods, name)
		default:
			l.Objects.ForeignNodes = append(l.Objects.ForeignNodes, name)
		}
	}
	return cache.err
}

// newer tells which of two pods of one node counts: the one that stays, and of two that do the later one.
func newer(pod, than *corev1.Pod) bool {
	if (pod.DeletionTimestamp == nil) != (than.DeletionTimestamp == nil) {
		return pod.DeletionTimestamp == nil
	}
	return than.CreationTimestamp.Before(&pod.CreationTimestamp)
}

// observeMonitoring finds who monitors the Valkey.
func (r *reconciler) observeMonitoring(ctx context.Context, l *look) error {
	if l.Valkey.Spec.Failover.Mode != v1alpha1.FailoverModeSentinel {
		return nil
	}
	var sets v1alpha1.ValkeySentinelList
	if err := r.client.List(ctx, &sets, client.InNamespace(l.Valkey.Namespace)); err != nil {
		return fmt.Errorf("list the ValkeySentinels: %w", err)
	}
	all := make([]*v1alpha1.ValkeySentinel, 0, len(sets.Items))
	for i := range sets.Items {
		all = append(all, &sets.Items[i])
	}
	choice := selection.For(l.Valkey, all)
	l.Monitoring.Set = choice.Monitor
	for _, other := range choice.Conflicting {
		l.Monitoring.Conflicting = append(l.Monitoring.Conflicting, other.Name)
	}
	if choice.Monitor == nil {
		return nil
	}
	cache := cacheReader{r: r, namespace: l.Valkey.Namespace}
	if secret := get(ctx, &cache, naming.SentinelPasswordsSecret(choice.Monitor.Name), &corev1.Secret{}); secret != nil {
		l.Monitoring.AgentPassword = plan.Secret(secret.Data[naming.UserAgent])
		l.sentinelPassword = string(secret.Data[naming.UserOperator])
	}
	l.sentinelPods = map[string]*corev1.Pod{}
	for i := range int(choice.Monitor.Spec.Replicas) {
		name := naming.SentinelPod(choice.Monitor.Name, i)
		if pod := get(ctx, &cache, name, &corev1.Pod{}); pod != nil {
			l.sentinelPods[name] = pod
		}
	}
	return cache.err
}
