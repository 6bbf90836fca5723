// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package valkey

import (
	"context"
	"fmt"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/valkeykube/valkeykube/pkg/apis/valkey/v1alpha1"
)

// secretLifetime is how old a Secret of a user may be when it is used: a change is seen that late.
const secretLifetime = 15 * time.Second

// userSecrets remembers the Secrets with users' passwords for a while. They are not ours and carry no label, so the cache does not hold them,
// and watching every Secret of the cluster would keep them all in memory.
type userSecrets struct {
	secretMu sync.Mutex
	secrets  map[types.NamespacedName]userSecret
}

// userSecret is nil where there is none.
type userSecret struct {
	secret *corev1.Secret
	read   time.Time
}

// read is the Secrets that the users of the Valkey name, by name. One that does not exist is absent.
func (u *userSecrets) read(ctx context.Context, reader client.Reader, valkey *v1alpha1.Valkey, now time.Time) (map[string]*corev1.Secret, error) {
	found := map[string]*corev1.Secret{}
	for i := range valkey.Spec.Users {
		reference := valkey.Spec.Users[i].PasswordSecret
		if reference == nil {
			continue
		}
		secret, err := u.one(ctx, reader, types.NamespacedName{Namespace: valkey.Namespace, Name: reference.Name}, now)
		if err != nil {
			return nil, fmt.Errorf("read Secret %s: %w", reference.Name, err)
		}
		if secret != nil {
			found[reference.Name] = secret
		}
	}
	return found, nil
}

func (u *userSecrets) one(ctx context.Context, reader client.Reader, key types.NamespacedName, now time.Time) (*corev1.Secret, error) {
	u.secretMu.Lock()
	known, has := u.secrets[key]
	u.secretMu.Unlock()
	if has && now.Sub(known.read) < secretLifetime {
		return known.secret, nil
	}
	secret := &corev1.Secret{}
	err := reader.Get(ctx, key, secret)
	switch {
	case apierrors.IsNotFound(err):
		secret = nil
	case err != nil:
		return nil, err
	}
	u.secretMu.Lock()
	defer u.secretMu.Unlock()
	if u.secrets == nil {
		u.secrets = map[types.NamespacedName]userSecret{}
	}
	for other, old := range u.secrets {
		if now.Sub(old.read) > 10*secretLifetime {
			delete(u.secrets, other)
		}
	}
	u.secrets[key] = userSecret{secret: secret, read: now}
	return secret, nil
}
