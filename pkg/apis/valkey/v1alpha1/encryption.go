// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import "github.com/valkeykube/valkeykube/pkg/naming"

// IsOn tells whether there is a certificate.
func (t *TLSSpec) IsOn() bool { return t != nil && t.Enabled }

// IsOnly tells whether there is TLS and nothing else.
func (t *TLSSpec) IsOnly() bool { return t.IsOn() && !t.AllowUnencrypted }

// PortBeside is the port that TLS has beside plaintext, and that Services have for it all the time: the usual one, unless the spec has another
// that is not plaintext's.
func (t *TLSSpec) PortBeside(usual, plaintext int32) int32 {
	if t == nil || t.Port == nil || *t.Port == plaintext {
		return usual
	}
	return *t.Port
}

// TLS is what the spec asks for with the name of the Secret that holds the certificate, whoever fills that: a person, or cert-manager. Nil without
// TLS. It is the one place that knows which Secret that is.
func (v *Valkey) TLS() *TLSSpec {
	return v.Spec.Networking.TLS.resolved(naming.ValkeyCertificate(v.Name))
}

// TLS is the same of the Sentinels.
func (s *ValkeySentinel) TLS() *TLSSpec {
	return s.Spec.Networking.TLS.resolved(naming.SentinelCertificate(s.Name))
}

func (t *TLSSpec) resolved(byCertManager string) *TLSSpec {
	if !t.IsOn() {
		return nil
	}
	t = t.DeepCopy()
	if t.CertManager != nil {
		t.SecretName, t.CertManager = byCertManager, nil
	}
	return t
}

// Asked is what cert-manager is asked for; nil where it is not.
func (t *TLSSpec) Asked() *CertManagerSpec {
	if !t.IsOn() {
		return nil
	}
	return t.CertManager
}

// ValkeyWord is how Valkey calls a mode of client certificates, in tls-auth-clients.
func (m ClientCertificateMode) ValkeyWord() string {
	switch m {
	case ClientCertificatesRequired:
		return "yes"
	case ClientCertificatesOptional:
		return "optional"
	default:
		return "no"
	}
}
