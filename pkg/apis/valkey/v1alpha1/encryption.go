// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

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

// Secret is the name of the Secret that holds the certificate: the one that is named, or that which cert-manager is asked to fill. Empty
// without TLS.
func (t *TLSSpec) Secret(byCertManager string) string {
	switch {
	case !t.IsOn():
		return ""
	case t.CertManager != nil:
		return byCertManager
	default:
		return t.SecretName
	}
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
