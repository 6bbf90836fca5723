// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package valkey

import (
	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/valkeykube/valkeykube/pkg/apis/valkey/v1alpha1"
	"github.com/valkeykube/valkeykube/pkg/controller/issuance"
	"github.com/valkeykube/valkeykube/pkg/controller/password"
	"github.com/valkeykube/valkeykube/pkg/controller/valkey/plan"
	"github.com/valkeykube/valkeykube/pkg/desired"
	"github.com/valkeykube/valkeykube/pkg/naming"
)

// errForeign means that an object with the name of one of ours belongs to somebody else.
var errForeign = errors.New("an object of this name exists and belongs to somebody else; it is left alone")

// apply makes a child as it should be. The EndpointSlice goes through routes, so that an older look never undoes what a later one led to.
func (r *reconciler) apply(ctx context.Context, l *look, action plan.Apply) (skipped bool, err error) {
	if action.Creates {
		if err := r.makeSure(ctx, l, action.Kind, action.Name); err != nil {
			return false, err
		}
	}
	if action.Kind == plan.KindEndpointSlice {
		skipped, err = r.routes.apply(ctx, client.ObjectKeyFromObject(l.Valkey), l.began, action)
	} else {
		err = r.client.Apply(ctx, issuance.Applicable(action.Config), client.FieldOwner(naming.FieldManager), client.ForceOwnership)
	}
	if action.Kind == plan.KindPod && isEnd(err) {
		return true, nil
	}
	return skipped, err
}

// makeSure looks past the cache before something is made: the cache does not hold what does not carry our label, and an apply would take it over.
func (r *reconciler) makeSure(ctx context.Context, l *look, kind plan.Kind, name string) error {
	object := blank(kind)
	err := r.reader.Get(ctx, types.NamespacedName{Namespace: l.Valkey.Namespace, Name: name}, object)
	switch {
	case apierrors.IsNotFound(err):
		return nil
	case err != nil:
		return fmt.Errorf("look for one that exists: %w", err)
	case !desired.IsOwnedBy(object, l.Valkey):
		return errForeign
	}
	return nil
}

// blank is an object of the kind, to read into.
func blank(kind plan.Kind) client.Object {
	switch kind {
	case plan.KindSecret:
		return &corev1.Secret{}
	case plan.KindConfigMap:
		return &corev1.ConfigMap{}
	case plan.KindService:
		return &corev1.Service{}
	case plan.KindEndpointSlice:
		return &discoveryv1.EndpointSlice{}
	case plan.KindBudget:
		return &policyv1.PodDisruptionBudget{}
	case plan.KindNetworkPolicy:
		return &networkingv1.NetworkPolicy{}
	case plan.KindRole:
		return &rbacv1.Role{}
	case plan.KindRoleBinding:
		return &rbacv1.RoleBinding{}
	case plan.KindNode:
		return &v1alpha1.ValkeyNode{}
	case plan.KindCertificate:
		return issuance.Blank()
	default:
		return &corev1.Pod{}
	}
}

// remove deletes an object if it still is the one that was looked at.
func (r *reconciler) remove(ctx context.Context, l *look, kind plan.Kind, name string, uid types.UID) error {
	object := blank(kind)
	object.SetNamespace(l.Valkey.Namespace)
	object.SetName(name)
	return client.IgnoreNotFound(r.client.Delete(ctx, object, client.Preconditions{UID: &uid}))
}

// replace authorises a node to replace its pod. The configuration names the node's uid. Where it is done because no server runs in the pod,
// that is looked at past the cache first.
func (r *reconciler) replace(ctx context.Context, l *look, action plan.Replace) (skipped bool, err error) {
	if action.IdlePod != "" {
		pod := &corev1.Pod{}
		err := r.reader.Get(ctx, types.NamespacedName{Namespace: l.Valkey.Namespace, Name: action.IdlePod}, pod)
		switch {
		case client.IgnoreNotFound(err) != nil:
			return false, fmt.Errorf("look whether the pod is idle: %w", err)
		case err == nil && !plan.IsIdle(pod):
			return true, nil
		}
	}
	return false, r.client.Apply(ctx, action.Config, client.FieldOwner(naming.FieldManager), client.ForceOwnership)
}

// writePasswords writes the Secret with the system passwords. It is made, or replaced at the version that was looked at, and never applied: a
// password that is in use must not be overwritten by one that was drawn over an old look.
func (r *reconciler) writePasswords(ctx context.Context, l *look, action plan.WritePasswords) error {
	secret := desired.ValkeyPasswordsSecret(l.Valkey)
	if live := l.Objects.Passwords; live != nil {
		secret = live.DeepCopy()
	}
	if secret.Data == nil {
		secret.Data = map[string][]byte{}
	}
	if action.Drop {
		delete(secret.Data, naming.KeySentinelAgent)
	}
	for user, kept := range action.Keep {
		secret.Data[user] = []byte(kept)
	}
	for _, user := range action.Draw {
		drawn, err := password.Draw()
		if err != nil {
			return err
		}
		secret.Data[user] = []byte(drawn)
	}
	if action.Version != "" {
		secret.ResourceVersion = action.Version
		return r.client.Update(ctx, secret, client.FieldOwner(naming.FieldManager))
	}
	err := r.client.Create(ctx, secret, client.FieldOwner(naming.FieldManager))
	if apierrors.IsAlreadyExists(err) {
		return r.makeSure(ctx, l, plan.KindSecret, action.Name)
	}
	return err
}
