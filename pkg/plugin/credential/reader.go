// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package credential

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
)

// ErrMayNotRead is that the caller may not read the Secret that the password is in.
var ErrMayNotRead = errors.New("no right to read the Secret")

// Reader reads Secrets of a namespace, as the caller.
type Reader struct {
	Kube      kubernetes.Interface
	Namespace string
}

// Password is one with which the account can log in; empty where none is asked for.
func (r Reader) Password(ctx context.Context, account Account) (string, error) {
	switch {
	case account.Unusable != "":
		return "", fmt.Errorf("nobody can log in as %s: %s", account.User, account.Unusable)
	case account.Open:
		return "", nil
	}
	secret, err := r.Kube.CoreV1().Secrets(r.Namespace).Get(ctx, account.Secret, metav1.GetOptions{})
	switch {
	case apierrors.IsForbidden(err):
		return "", fmt.Errorf("user %s: Secret %s: %w", account.User, account.Secret, ErrMayNotRead)
	case err != nil:
		return "", fmt.Errorf("user %s: %w", account.User, err)
	}
	keys := account.Keys
	if len(keys) == 0 {
		keys = slices.Sorted(maps.Keys(secret.Data))
	}
	for _, key := range keys {
		if password := secret.Data[key]; len(password) > 0 {
			return string(password), nil
		}
	}
	return "", fmt.Errorf("user %s: Secret %s holds no password", account.User, account.Secret)
}
