// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package command

import (
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/valkeykube/valkeykube/pkg/apis/valkey/v1alpha1"
	"github.com/valkeykube/valkeykube/pkg/naming"
	"github.com/valkeykube/valkeykube/pkg/plugin/settings"
	"github.com/valkeykube/valkeykube/pkg/valkeyclient"
	"github.com/valkeykube/valkeykube/pkg/valkeyclient/valkeytest"
	"github.com/valkeykube/valkeykube/pkg/valkeyconf"
)

// keyring is an authority's files: what servers read, and what a person may have.
type keyring struct {
	files     valkeyconf.Certificates
	secret    map[string][]byte
	authority *valkeytest.Authority
}

func newKeyring(t *testing.T) keyring {
	t.Helper()
	k := keyring{files: valkeyconf.CertificatesIn(t.TempDir()), authority: valkeytest.NewAuthority(t)}
	issued := k.authority.Issue("anything")
	k.secret = map[string][]byte{naming.KeyCA: k.authority.PEM, naming.KeyCertificate: issued.Certificate, naming.KeyPrivateKey: issued.Key}
	for file, text := range map[string][]byte{k.files.CA: k.authority.PEM, k.files.Certificate: issued.Certificate, k.files.Key: issued.Key} {
		if err := os.WriteFile(file, text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return k
}

// start starts a server with TLS.
func (k keyring) start(t *testing.T, listening valkeyconf.Listening) *valkeytest.Process {
	t.Helper()
	listening.Port = valkeytest.FreePort(t)
	text, err := append(k.files.Config(), listening.Config()...).Render()
	if err != nil {
		t.Fatal(err)
	}
	encryption, err := valkeyclient.NewEncryption(k.secret[naming.KeyCA], k.secret[naming.KeyCertificate], k.secret[naming.KeyPrivateKey])
	if err != nil {
		t.Fatal(err)
	}
	encryption.Mixed = true
	return valkeytest.StartServer(t, valkeytest.Options{
		Binary: valkeytest.Default(t), Config: strings.Split(strings.TrimSpace(text), "\n"), Port: listening.Port, ACL: accessOfApp,
		Credentials: valkeyclient.Credentials{Password: "admin"}, Encryption: encryption,
	})
}

func TestSessionsOverTLS(t *testing.T) {
	k, other := newKeyring(t), newKeyring(t)
	alone := k.start(t, valkeyconf.Listening{Encrypted: true, ClientCertificates: "no"})
	asking := k.start(t, valkeyconf.Listening{Encrypted: true, ClientCertificates: "yes"})
	plain := k.start(t, valkeyconf.Listening{TLSPort: valkeytest.FreePort(t), ClientCertificates: "no"})
	nonsense := filepath.Join(t.TempDir(), "nonsense")
	if err := os.WriteFile(nonsense, []byte("no PEM"), 0o600); err != nil {
		t.Fatal(err)
	}
	only, beside := &v1alpha1.TLSSpec{Enabled: true, SecretName: "certs"}, &v1alpha1.TLSSpec{Enabled: true, SecretName: "certs", AllowUnencrypted: true}
	const yes, no = metav1.ConditionTrue, metav1.ConditionFalse
	for name, c := range map[string]struct {
		server    *valkeytest.Process
		tls       *v1alpha1.TLSSpec
		encrypted metav1.ConditionStatus
		secret    map[string][]byte
		flags     string
		code      int
		stderr    string
	}{
		"by the Secret":                      {alone, only, yes, k.secret, "", ExitOK, ""},
		"by the Secret, asked for one":       {asking, only, yes, k.secret, "", ExitOK, ""},
		"on the way, TLS already":            {alone, only, no, k.secret, "", ExitOK, ""},
		"on the way, plaintext still":        {plain, only, no, k.secret, "", ExitOK, ""},
		"beside plaintext":                   {plain, beside, no, k.secret, "", ExitOK, ""},
		"beside plaintext, no right":         {plain, beside, no, nil, "", ExitOK, ""},
		"no right":                           {alone, only, yes, nil, "", ExitError, "TLS: Secret certs: no right to read the Secret; it takes the right to get that Secret, or --ca FILE"},
		"a broken Secret":                    {alone, only, yes, map[string][]byte{naming.KeyCA: []byte("x")}, "", ExitError, "Secret certs: certificate cannot be used"},
		"an authority by hand":               {alone, only, yes, nil, "--ca " + k.files.CA, ExitOK, ""},
		"another authority":                  {alone, only, yes, k.secret, "--ca " + other.files.CA, ExitError, "--ca FILE names another authority"},
		"another Secret's authority":         {alone, only, yes, other.secret, "", ExitError, "--ca FILE names another authority"},
		"an authority alone, asked for more": {asking, only, yes, nil, "--ca " + k.files.CA, ExitError, "--cert FILE and --key FILE"},
		"all by hand":                        {asking, only, yes, nil, "--ca " + k.files.CA + " --cert " + k.files.Certificate + " --key " + k.files.Key, ExitOK, ""},
		"the key of another":                 {asking, only, yes, nil, "--ca " + k.files.CA + " --cert " + k.files.Certificate + " --key " + other.files.Key, ExitError, "--ca, --cert and --key: certificate cannot be used"},
		"no PEM":                             {alone, only, yes, nil, "--ca " + nonsense, ExitError, "holds no certificate"},
		"no file":                            {alone, only, yes, nil, "--ca " + nonsense + "-either", ExitError, "no such file"},
		"an authority where there is no TLS": {plain, nil, "", nil, "--ca " + k.files.CA, ExitUsage, "has no TLS"},
	} {
		t.Run(name, func(t *testing.T) {
			valkey := valkeyWithApp()
			valkey.Spec.Networking.TLS = c.tls
			valkey.Status.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionEncrypted, Status: c.encrypted}}
			url := serveCluster(t, c.server, valkey, map[string]map[string][]byte{"app": {"pw": []byte(passwordOfApp)}, "certs": c.secret})
			code, stdout, stderr := run(t, t.Context(), url, "", strings.Fields("cli cache "+c.flags+" -- ACL WHOAMI")...)
			if code != c.code || code == ExitOK && stdout != "app\n" || !strings.Contains(stderr, c.stderr) {
				t.Errorf("exit code %d, want %d\n%s\n%s", code, c.code, stdout, stderr)
			}
			if out := stdout + stderr; strings.Contains(out, passwordOfApp) || strings.Contains(out, "PRIVATE") {
				t.Errorf("it shows what is secret:\n%s", out)
			}
		})
	}
}

func TestConnectTellsWhereTLSIs(t *testing.T) {
	valkey := cache().body.(v1alpha1.Valkey)
	show := func(tls v1alpha1.TLSSpec, line string) string {
		valkey.Spec.Networking.TLS = &tls
		server := serve(t, map[string]answer{"GET valkeys/cache": {http.StatusOK, valkey}})
		code, stdout, stderr := run(t, t.Context(), server, "", strings.Fields(line)...)
		if code != ExitOK {
			t.Errorf("%s: exit code %d\n%s", line, code, stderr)
		}
		return stdout
	}
	alone := v1alpha1.TLSSpec{Enabled: true, SecretName: "certs", ClientCertificates: v1alpha1.ClientCertificatesRequired}
	beside := v1alpha1.TLSSpec{Enabled: true, SecretName: "certs", AllowUnencrypted: true}
	for _, c := range []struct {
		tls  v1alpha1.TLSSpec
		line string
		want []string
	}{
		{alone, "connect cache", []string{"alone", "Secret ns/certs, key ca.crt", "not on record yet", "required", "{name: certs, items: [{key: ca.crt, path: ca.crt}]}", "mountPath: /etc/valkey"}},
		{alone, "connect cache --client redis-py", []string{"ssl=True", `ssl_ca_certs="/etc/valkey/ca.crt"`, `ssl_keyfile="/etc/valkey/tls.key"`, "port=6379"}},
		{beside, "connect cache", []string{"beside plaintext", "valkey-cache-primary.ns.svc.cluster.local:16379", "valkey-cache-replicas.ns.svc.cluster.local:16379", "Secret ns/certs, key ca.crt"}},
	} {
		out := show(c.tls, c.line)
		for _, want := range c.want {
			if !strings.Contains(out, want) {
				t.Errorf("%s: no %q in\n%s", c.line, want, out)
			}
		}
	}
	if out := show(beside, "connect cache --client redis-py"); strings.Contains(out, "ssl") {
		t.Errorf("code for plaintext speaks TLS:\n%s", out)
	}
	var found settings.Settings
	if err := json.Unmarshal([]byte(show(alone, "connect cache -o json")), &found); err != nil || found.TLS == nil || !found.TLS.Only || found.TLS.Authority.Secret != "certs" || !found.TLS.ClientCertificate {
		t.Errorf("for programs: %v, %+v", err, found.TLS)
	}
	if out := show(v1alpha1.TLSSpec{}, "connect cache -o yaml"); strings.Contains(out, "tls") {
		t.Errorf("without TLS: %s", out)
	}
}
