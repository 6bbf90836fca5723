// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package settings

import (
	"path"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/valkeykube/valkeykube/pkg/apis/valkey/v1alpha1"
	"github.com/valkeykube/valkeykube/pkg/naming"
)

// TLS is how clients speak it.
type TLS struct {
	// Only: the addresses of the settings take TLS and nothing else. Without, they are plaintext's, and Write and Read are where TLS is beside.
	Only  bool    `json:"only"`
	Write Address `json:"write"`
	Read  Address `json:"read"`
	// Authority is where the certificate of whoever signed the servers' is, SentinelAuthority the same of the Sentinels'; nil where they speak
	// plaintext, or there are none.
	Authority         Key  `json:"authority"`
	SentinelAuthority *Key `json:"sentinelAuthority,omitempty"`
	// ClientCertificate is whether servers refuse clients that show no certificate of that authority.
	ClientCertificate bool `json:"clientCertificate"`
	// Pending says why what is asked for is not so yet; empty where it is.
	Pending string `json:"pending,omitempty"`
}

// Key is one of a Secret.
type Key struct {
	Secret string `json:"secret"`
	Key    string `json:"key"`
}

// Files that templates read, where the application's pod mounts them.
const (
	DirTLS                = "/etc/valkey"
	FileAuthority         = DirTLS + "/ca.crt"
	FileSentinelAuthority = DirTLS + "/sentinel-ca.crt"
	FileCertificate       = DirTLS + "/tls.crt"
	FileKey               = DirTLS + "/tls.key"
)

// tlsOf is nil without TLS.
func tlsOf(valkey *v1alpha1.Valkey, set *v1alpha1.ValkeySentinel, s Settings) *TLS {
	spec := valkey.TLS()
	if !spec.IsOn() {
		return nil
	}
	t := &TLS{
		Only: spec.IsOnly(), Write: s.Write, Read: s.Read, ClientCertificate: spec.ClientCertificates == v1alpha1.ClientCertificatesRequired,
		Authority: Key{spec.SecretName, naming.KeyCA},
	}
	if !t.Only {
		port := int(spec.PortBeside(naming.PortValkeyTLS, naming.PortValkey))
		t.Write.Port, t.Read.Port = port, port
	}
	t.Pending = pending(valkey.Status.Conditions, t.Only)
	if len(s.Sentinels) == 0 || !set.Spec.Networking.TLS.IsOn() || set.Spec.Networking.TLS.IsOnly() != t.Only {
		return t
	}
	t.SentinelAuthority = &Key{set.TLS().SecretName, naming.KeyCA}
	if set.Spec.Networking.TLS.ClientCertificates == v1alpha1.ClientCertificatesRequired {
		t.ClientCertificate = true
	}
	if t.Pending == "" {
		t.Pending = pending(set.Status.Conditions, t.Only)
	}
	return t
}

// pending is what the condition says, unless everything is as it was asked for.
func pending(conditions []metav1.Condition, only bool) string {
	c := meta.FindStatusCondition(conditions, v1alpha1.ConditionEncrypted)
	switch {
	case c == nil:
		return "not on record yet"
	case c.Status == metav1.ConditionTrue && only, c.Reason == v1alpha1.ReasonPlaintextServed && !only:
		return ""
	case c.Message == "":
		return c.Reason
	}
	return c.Reason + ": " + c.Message
}

// authorities are the files with the certificates that servers and Sentinels are believed by, for libraries that have one list for both.
func (t *TLS) authorities() []string {
	files := []string{FileAuthority}
	if t.apart() {
		files = append(files, FileSentinelAuthority)
	}
	return files
}

// apart is whether Sentinels have an authority in another Secret than the servers.
func (t *TLS) apart() bool { return t.SentinelAuthority != nil && *t.SentinelAuthority != t.Authority }

// Mounts are what an application's container, and its pod, need for the files, in YAML.
func (t *TLS) Mounts() string {
	source := func(k Key, file string) string {
		return "{secret: {name: " + k.Secret + ", items: [{key: " + k.Key + ", path: " + file + "}]}}"
	}
	sources := source(t.Authority, naming.KeyCA)
	if t.apart() {
		sources += ", " + source(*t.SentinelAuthority, path.Base(FileSentinelAuthority))
	}
	return "  volumeMounts:\n  - {name: valkey-tls, mountPath: " + DirTLS + ", readOnly: true}\nand below its volumes:\n" +
		"  - name: valkey-tls\n    projected: {sources: [" + sources + "]}\n"
}
