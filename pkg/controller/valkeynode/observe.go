// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package valkeynode

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/valkeykube/valkeykube/pkg/apis/valkey/v1alpha1"
	"github.com/valkeykube/valkeykube/pkg/controller/pastcache"
	"github.com/valkeykube/valkeykube/pkg/controller/valkeynode/plan"
	"github.com/valkeykube/valkeykube/pkg/desired"
	"github.com/valkeykube/valkeykube/pkg/naming"
	"github.com/valkeykube/valkeykube/pkg/valkeyconf"
)

// observe looks at everything that a plan depends on. Without the node itself there is nothing to plan: Observed.Node is nil then.
func (r *reconciler) observe(ctx context.Context, key types.NamespacedName) (plan.Observed, error) {
	node := &v1alpha1.ValkeyNode{}
	if err := r.client.Get(ctx, key, node); err != nil {
		return plan.Observed{}, client.IgnoreNotFound(err)
	}
	known, _ := r.recollections.Recall(key, node.UID)
	if known.status != nil && known.seenVersion == node.ResourceVersion {
		node.Status = *known.status.DeepCopy()
	}
	o := plan.Observed{
		Node:        node,
		Terminating: node.DeletionTimestamp != nil,
		Environment: plan.Environment{AgentImage: r.deps.AgentImage, DNS: r.deps.DNS},
		Memory:      known.memory,
		Now:         r.now(),
	}
	if o.Terminating {
		return o, nil
	}
	passwords, err := r.observeObjects(ctx, &o)
	if err != nil {
		return o, err
	}
	if err := r.observeTrouble(ctx, &o); err != nil {
		return o, err
	}
	pod := o.Pod()
	o.Server = r.look(ctx, node, pod, string(passwords[naming.UserOperator]))
	if !plan.IsReady(pod) {
		o.Word = r.wordOf(ctx, pod)
	}
	if o.AwaitsMounts() {
		o.Mounted = r.mountedIn(ctx, pod)
	}
	o.Now = r.now()
	return o, nil
}

// observeObjects reads the children, and returns the passwords of the product's own users.
func (r *reconciler) observeObjects(ctx context.Context, o *plan.Observed) (passwords map[string][]byte, err error) {
	node := o.Node
	look := r.children(node.Namespace)
	workload := naming.NodeWorkload(node.Name)
	if node.Spec.WorkloadType == v1alpha1.WorkloadTypeDeployment {
		o.Objects.Deployment = pastcache.Get(ctx, look, workload, &appsv1.Deployment{})
	} else {
		o.Objects.StatefulSet = pastcache.Get(ctx, look, workload, &appsv1.StatefulSet{})
	}
	o.Objects.Service = pastcache.Get(ctx, look, workload, &corev1.Service{})
	if node.Spec.Persistence != nil {
		o.Objects.Claim = pastcache.Get(ctx, look, naming.NodeClaim(node.Name), &corev1.PersistentVolumeClaim{})
	}
	configMap := pastcache.Get(ctx, look, desired.NodeConfigMapName(node), &corev1.ConfigMap{})
	if configMap != nil {
		o.Objects.Mounts = plan.Mounts{
			Settings: valkeyconf.Hash(configMap.Data[naming.KeyBoot]), Config: valkeyconf.Hash(configMap.Data[naming.KeyServerConfig]),
		}
	}
	switch {
	case node.Spec.ServerConfigMapName == "":
		o.Objects.ConfigMap = configMap
	case configMap == nil:
		o.Missing = append(o.Missing, plan.Missing{Reason: v1alpha1.ReasonConfigMapMissing, Name: node.Spec.ServerConfigMapName})
	}
	secret := func(name string) *corev1.Secret {
		if name == "" {
			return &corev1.Secret{}
		}
		found := pastcache.Get(ctx, look, name, &corev1.Secret{})
		if found == nil {
			o.Missing = append(o.Missing, plan.Missing{Reason: v1alpha1.ReasonSecretMissing, Name: name})
			return &corev1.Secret{}
		}
		return found
	}
	o.Objects.ACL = string(secret(node.Spec.UsersACLSecretName).Data[naming.KeyACL])
	passwords = secret(node.Spec.SystemPasswordsSecretName).Data
	if look.Err() != nil {
		return nil, look.Err()
	}
	var pods corev1.PodList
	if err := r.client.List(ctx, &pods, client.InNamespace(node.Namespace), client.MatchingLabels(naming.NodeSelector(node.Name))); err != nil {
		return nil, fmt.Errorf("list the pods of node %s: %w", node.Name, err)
	}
	for i := range pods.Items {
		o.Objects.Pods = append(o.Objects.Pods, &pods.Items[i])
	}
	return passwords, nil
}

// children is a look at objects by name.
func (r *reconciler) children(namespace string) *pastcache.Look {
	return &pastcache.Look{Cache: r.client, API: r.reader, Namespace: namespace}
}

// observeTrouble asks for the newest warning events, but only while nothing else says why there is no running pod.
func (r *reconciler) observeTrouble(ctx context.Context, o *plan.Observed) error {
	about := plan.TroubleOf(*o)
	if about == "" {
		return nil
	}
	var found corev1.EventList
	err := r.reader.List(ctx, &found, client.InNamespace(o.Node.Namespace), client.MatchingFields{
		"involvedObject.uid": string(about), "type": corev1.EventTypeWarning,
	})
	if err != nil {
		return fmt.Errorf("list events: %w", err)
	}
	slices.SortFunc(found.Items, func(a, b corev1.Event) int {
		return cmp.Compare(lastSeen(&b).UnixNano(), lastSeen(&a).UnixNano())
	})
	for i := range found.Items {
		o.Trouble = append(o.Trouble, plan.Trouble{Reason: found.Items[i].Reason, Message: found.Items[i].Message})
	}
	return nil
}

func lastSeen(event *corev1.Event) time.Time {
	if event.Series != nil {
		return event.Series.LastObservedTime.Time
	}
	if !event.LastTimestamp.IsZero() {
		return event.LastTimestamp.Time
	}
	return event.EventTime.Time
}
