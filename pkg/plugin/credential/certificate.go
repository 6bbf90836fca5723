// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package credential

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/valkeykube/valkeykube/pkg/apis/valkey/v1alpha1"
	"github.com/valkeykube/valkeykube/pkg/naming"
	"github.com/valkeykube/valkeykube/pkg/valkeyclient"
)

// PEM are texts to speak TLS with: the authority that is believed, and a certificate with its key to show, or none.
type PEM struct {
	Authority, Certificate, Key []byte
}

// Encryption is how the servers of a Valkey are spoken to by the texts. Those that may still, or already, serve plaintext may be spoken to in it;
// when the move to TLS is on record as complete, only TLS is spoken.
func (p PEM) Encryption(valkey *v1alpha1.Valkey) (valkeyclient.Encryption, error) {
	encryption, err := valkeyclient.NewEncryption(p.Authority, p.Certificate, p.Key)
	encryption.Mixed = !valkey.Spec.Networking.TLS.IsOnly() || !meta.IsStatusConditionTrue(valkey.Status.Conditions, v1alpha1.ConditionEncrypted)
	return encryption, err
}

// Encryption reads how the servers of a Valkey are spoken to. The zero value is plaintext: without TLS, and where plaintext is served beside it to
// whoever may not read the Secret.
func (r Reader) Encryption(ctx context.Context, valkey *v1alpha1.Valkey) (valkeyclient.Encryption, error) {
	tls := valkey.TLS()
	if !tls.IsOn() {
		return valkeyclient.Encryption{}, nil
	}
	name := tls.SecretName
	secret, err := r.Kube.CoreV1().Secrets(r.Namespace).Get(ctx, name, metav1.GetOptions{})
	switch {
	case apierrors.IsForbidden(err) && !tls.IsOnly():
		return valkeyclient.Encryption{}, nil
	case apierrors.IsForbidden(err):
		return valkeyclient.Encryption{}, fmt.Errorf("TLS: Secret %s: %w", name, ErrMayNotRead)
	case err != nil:
		return valkeyclient.Encryption{}, fmt.Errorf("TLS: %w", err)
	}
	texts := PEM{secret.Data[naming.KeyCA], secret.Data[naming.KeyCertificate], secret.Data[naming.KeyPrivateKey]}
	encryption, err := texts.Encryption(valkey)
	if err != nil {
		return valkeyclient.Encryption{}, fmt.Errorf("TLS: Secret %s: %w", name, err)
	}
	return encryption, nil
}
