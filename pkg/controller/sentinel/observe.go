// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package sentinel

import (
	"context"
	"fmt"
	"sync"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/valkeykube/valkeykube/pkg/apis/valkey/v1alpha1"
	"github.com/valkeykube/valkeykube/pkg/controller/pastcache"
	"github.com/valkeykube/valkeykube/pkg/controller/sentinel/plan"
	"github.com/valkeykube/valkeykube/pkg/desired"
	"github.com/valkeykube/valkeykube/pkg/naming"
	"github.com/valkeykube/valkeykube/pkg/valkeyclient"
)

// observation is a look, with what it takes to act on it.
type observation struct {
	plan.Observed
	// sentinels are by index how to reach each Sentinel, for those that have an address.
	sentinels map[int]valkeyclient.Target
	// encryption is how they are spoken to, and served which certificates they show: see recollection.
	encryption valkeyclient.Encryption
	served     *sync.Map
	// refusals is what the API has refused, kept from pass to pass.
	refusals *refusals
}

// observe looks at everything that a plan depends on. Without the set itself there is nothing to plan: Set is nil then.
func (r *reconciler) observe(ctx context.Context, key types.NamespacedName) (observation, error) {
	set := &v1alpha1.ValkeySentinel{}
	if err := r.client.Get(ctx, key, set); err != nil {
		return observation{}, client.IgnoreNotFound(err)
	}
	known := r.recall(set)
	if known.status != nil && known.seenVersion == set.ResourceVersion {
		set.Status = *known.status.DeepCopy()
	}
	o := observation{refusals: known.refusals, served: known.served, Observed: plan.Observed{
		Now: r.now(), Set: set, Terminating: set.DeletionTimestamp != nil, Memory: known.memory, Settled: known.settled,
		Environment: plan.Environment{AgentImage: r.deps.AgentImage, DNS: r.deps.DNS, SystemNamespace: r.deps.SystemNamespace},
	}}
	if o.Terminating {
		return o, nil
	}
	if err := r.observeObjects(ctx, &o); err != nil {
		return o, err
	}
	if err := r.observeEncryption(ctx, &o); err != nil {
		return o, err
	}
	members, err := r.observeValkeys(ctx, &o)
	if err != nil {
		return o, err
	}
	r.lookAtSentinels(ctx, &o)
	r.lookAtNodes(ctx, &o, members)
	o.Now = r.now()
	return o, nil
}

func (r *reconciler) observeObjects(ctx context.Context, o *observation) error {
	look := r.children(o.Set.Namespace)
	workload, access := naming.SentinelWorkload(o.Set.Name), naming.SentinelAPIServerRole(o.Set.Name)
	o.Objects = plan.Objects{
		Passwords:     pastcache.Get(ctx, look, naming.SentinelPasswordsSecret(o.Set.Name), &corev1.Secret{}),
		Boot:          pastcache.Get(ctx, look, naming.SentinelBootSecret(o.Set.Name), &corev1.Secret{}),
		Service:       pastcache.Get(ctx, look, workload, &corev1.Service{}),
		Workload:      pastcache.Get(ctx, look, workload, &appsv1.StatefulSet{}),
		Role:          pastcache.Get(ctx, look, access, &rbacv1.Role{}),
		RoleBinding:   pastcache.Get(ctx, look, access, &rbacv1.RoleBinding{}),
		Budget:        pastcache.GetIfAllowed(ctx, look, workload, &policyv1.PodDisruptionBudget{}),
		NetworkPolicy: r.networkPolicy(ctx, look, o.Set),
		Pods:          map[string]*corev1.Pod{},
		UserSecrets:   map[string]*corev1.Secret{},
	}
	o.Noted = plan.NotedSettings(o.Set, o.Objects.Boot)
	for i := range o.Set.Spec.Users {
		if reference := o.Set.Spec.Users[i].PasswordSecret; reference != nil {
			if secret := pastcache.Get(ctx, look, reference.Name, &corev1.Secret{}); secret != nil {
				o.Objects.UserSecrets[reference.Name] = secret
			}
		}
	}
	if look.Err() != nil {
		return look.Err()
	}
	var pods corev1.PodList
	if err := r.client.List(ctx, &pods, client.InNamespace(o.Set.Namespace), client.MatchingLabels(naming.SentinelSelector(o.Set.Name))); err != nil {
		return fmt.Errorf("list the pods of ValkeySentinel %s: %w", o.Set.Name, err)
	}
	for i := range pods.Items {
		if pod := &pods.Items[i]; o.Objects.Workload != nil && isControlledBy(pod, o.Objects.Workload) {
			o.Objects.Pods[pod.Name] = pod
		}
	}
	return nil
}

// networkPolicy is the one of the set, or of somebody else under its name. Where none is wanted nobody else's matters, and only the cache is
// asked: most sets have none, and would otherwise cost a request each pass.
func (r *reconciler) networkPolicy(ctx context.Context, look *pastcache.Look, set *v1alpha1.ValkeySentinel) *networkingv1.NetworkPolicy {
	if wanted := set.Spec.Networking.NetworkPolicy; wanted == nil || !wanted.Enabled {
		look = &pastcache.Look{Cache: r.client, API: r.client, Namespace: set.Namespace}
	}
	return pastcache.GetIfAllowed(ctx, look, naming.SentinelWorkload(set.Name), &networkingv1.NetworkPolicy{})
}

// isControlledBy tells whether the pod is one of the workload's, and not one of somebody else's with the same labels.
func isControlledBy(pod *corev1.Pod, workload *appsv1.StatefulSet) bool {
	for _, owner := range pod.OwnerReferences {
		if owner.Controller != nil && *owner.Controller && owner.UID == workload.UID {
			return true
		}
	}
	return false
}

// children is a look at objects by name.
func (r *reconciler) children(namespace string) *pastcache.Look {
	return &pastcache.Look{Cache: r.client, API: r.reader, Namespace: namespace}
}

// password of one of the product's own users on the Sentinels, where it is ours.
func (o *observation) password(user string) string {
	if secret := o.Objects.Passwords; secret != nil && desired.IsOwnedBy(secret, o.Set) {
		return string(secret.Data[user])
	}
	return ""
}
