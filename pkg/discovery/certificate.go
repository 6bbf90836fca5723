// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package discovery

import (
	"context"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/types"

	"github.com/valkeykube/valkeykube/pkg/apis/valkey/v1alpha1"
	"github.com/valkeykube/valkeykube/pkg/desired"
	"github.com/valkeykube/valkeykube/pkg/naming"
	"github.com/valkeykube/valkeykube/pkg/valkeyclient"
)

// certificateLifetime is how old a Secret may be when it is used: a change is seen that late.
const certificateLifetime = 10 * time.Second

// forgetCertificate is how long a Secret that nobody asks for any more is remembered.
const forgetCertificate = time.Hour

// Certificate is what a Secret for TLS holds.
type Certificate struct {
	// Encryption speaks to whoever has a certificate of the same authority.
	Encryption valkeyclient.Encryption
	// Serial number of the certificate, in hexadecimal, and when it ends.
	Serial   string
	NotAfter time.Time
}

// Certificates reads Secrets for TLS and remembers them for a moment. Several may use one at the same time.
type Certificates struct {
	Secrets Secrets

	mu    sync.Mutex
	known map[types.NamespacedName]knownCertificate
	// spoken is how the Sentinels of a set were last spoken to by TLS.
	spoken map[types.NamespacedName]valkeyclient.Encryption
}

type knownCertificate struct {
	certificate Certificate
	err         error
	read        time.Time
	// speaks is the last encryption that could be used: a Secret that is lost or broken must not keep us from servers that go on with what it held.
	speaks valkeyclient.Encryption
}

// Of is the certificate in a Secret, as it is now. It fails with ErrNoCredentials where the Secret, or a key in it, is not there or may not be read, and with
// valkeyclient.ErrCertificate where what is there cannot be used.
func (c *Certificates) Of(ctx context.Context, namespace, secret string) (Certificate, error) {
	known := c.look(ctx, types.NamespacedName{Namespace: namespace, Name: secret})
	return known.certificate, known.err
}

func (c *Certificates) look(ctx context.Context, key types.NamespacedName) knownCertificate {
	now := time.Now()
	c.mu.Lock()
	known, has := c.known[key]
	c.mu.Unlock()
	if has && now.Sub(known.read) < certificateLifetime {
		return known
	}
	read := knownCertificate{read: now, speaks: known.speaks}
	var authority valkeyclient.Encryption
	read.certificate, authority, read.err = c.read(ctx, key)
	switch {
	case read.err == nil:
		read.speaks = read.certificate.Encryption
	case read.speaks.Config == nil:
		read.speaks = authority
	}
	if ctx.Err() != nil {
		return read
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.known == nil {
		c.known = map[types.NamespacedName]knownCertificate{}
	}
	for other, old := range c.known {
		if now.Sub(old.read) > forgetCertificate {
			delete(c.known, other)
		}
	}
	c.known[key] = read
	return read
}

// read is the certificate in a Secret. Where it cannot be used and the authorities can, authority believes those and shows no certificate.
func (c *Certificates) read(ctx context.Context, key types.NamespacedName) (certificate Certificate, authority valkeyclient.Encryption, err error) {
	data, err := c.Secrets.SecretData(ctx, key.Namespace, key.Name)
	if err != nil {
		return Certificate{}, authority, fmt.Errorf("%w: Secret %s: %w", ErrNoCredentials, key.Name, err)
	}
	authority, _ = valkeyclient.NewEncryption(data[naming.KeyCA], nil, nil)
	for _, part := range []string{naming.KeyCA, naming.KeyCertificate, naming.KeyPrivateKey} {
		if len(data[part]) == 0 {
			return Certificate{}, authority, fmt.Errorf("%w: Secret %s has no key %s", ErrNoCredentials, key.Name, part)
		}
	}
	encryption, err := valkeyclient.NewEncryption(data[naming.KeyCA], data[naming.KeyCertificate], data[naming.KeyPrivateKey])
	if err != nil {
		return Certificate{}, authority, fmt.Errorf("Secret %s: %w", key.Name, err)
	}
	block, _ := pem.Decode(data[naming.KeyCertificate])
	parsed, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		return Certificate{}, authority, fmt.Errorf("Secret %s: %w: %w", key.Name, valkeyclient.ErrCertificate, err)
	}
	return Certificate{Encryption: encryption, Serial: SerialOf(parsed), NotAfter: parsed.NotAfter}, authority, nil
}

// Summary is what plans need to know of the certificate in a Secret.
func (c *Certificates) Summary(ctx context.Context, namespace, secret string) desired.Certificate {
	certificate, err := c.Of(ctx, namespace, secret)
	summary := desired.Certificate{Serial: certificate.Serial, NotAfter: certificate.NotAfter}
	switch {
	case errors.Is(err, ErrNoCredentials):
		summary.Reason, summary.Message = v1alpha1.ReasonSecretMissing, err.Error()
	case err != nil:
		summary.Reason, summary.Message = v1alpha1.ReasonCertificateUnusable, err.Error()
	}
	return summary
}

// SerialOf is how a certificate's serial number is written.
func SerialOf(certificate *x509.Certificate) string { return certificate.SerialNumber.Text(16) }

// EncryptionOf is how to speak to a process that has the TLS of a spec. settled: its move to that is complete, and it takes nothing else; until
// then it may speak plaintext. A Secret that cannot be used now leaves it at what it last held. The zero value without TLS.
func (c *Certificates) EncryptionOf(ctx context.Context, namespace string, tls *v1alpha1.TLSSpec, settled bool) (valkeyclient.Encryption, error) {
	if !tls.IsOn() || tls.SecretName == "" {
		return valkeyclient.Encryption{}, nil
	}
	known := c.look(ctx, types.NamespacedName{Namespace: namespace, Name: tls.SecretName})
	encryption := known.speaks
	if encryption.Config == nil {
		return encryption, known.err
	}
	encryption.Mixed = !settled || !tls.IsOnly()
	return encryption, nil
}

// NodeEncryption is how the server of a node is spoken to, by how far its move to TLS is.
func (c *Certificates) NodeEncryption(ctx context.Context, node *v1alpha1.ValkeyNode) (valkeyclient.Encryption, error) {
	settled := meta.IsStatusConditionTrue(node.Status.Conditions, v1alpha1.ConditionEncrypted)
	return c.EncryptionOf(ctx, node.Namespace, node.Spec.TLS, settled)
}

// SentinelEncryption is how the Sentinels of a set are spoken to, by how far its move to TLS is. Where the Secret that is asked for was never usable,
// they go on with the one that they had, and are spoken to as before.
func (c *Certificates) SentinelEncryption(ctx context.Context, set *v1alpha1.ValkeySentinel) (valkeyclient.Encryption, error) {
	tls := set.TLS()
	if !tls.IsOn() {
		return valkeyclient.Encryption{}, nil
	}
	settled := meta.IsStatusConditionTrue(set.Status.Conditions, v1alpha1.ConditionEncrypted)
	encryption, err := c.EncryptionOf(ctx, set.Namespace, tls, settled)
	key := types.NamespacedName{Namespace: set.Namespace, Name: set.Name}
	c.mu.Lock()
	defer c.mu.Unlock()
	switch before, has := c.spoken[key]; {
	case err != nil && has:
		before.Mixed = !settled
		return before, nil
	case err == nil && c.spoken == nil:
		c.spoken = map[types.NamespacedName]valkeyclient.Encryption{key: encryption}
	case err == nil:
		c.spoken[key] = encryption
	}
	return encryption, err
}
