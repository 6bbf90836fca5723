// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package settings

import (
	"flag"
	"go/parser"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/valkeykube/valkeykube/pkg/apis/valkey/v1alpha1"
	"github.com/valkeykube/valkeykube/pkg/plugin/credential"
)

var update = flag.Bool("update", false, "rewrite the golden files")

func sample() (*v1alpha1.Valkey, *v1alpha1.ValkeySentinel) {
	valkey := &v1alpha1.Valkey{ObjectMeta: metav1.ObjectMeta{Namespace: "demo", Name: "cache"}}
	valkey.Spec.Replicas, valkey.Spec.Failover.Mode = 2, v1alpha1.FailoverModeSentinel
	set := &v1alpha1.ValkeySentinel{ObjectMeta: metav1.ObjectMeta{Namespace: "demo", Name: "watch"}}
	set.Spec.Replicas = 3
	return valkey, set
}

var (
	open   = credential.Account{User: "default", Open: true}
	closed = credential.Account{User: "app", Secret: "app-password", Keys: []string{"password"}}
)

// render is every library and way in one text, with what cannot be said in its place.
func render(t *testing.T, s Settings) string {
	t.Helper()
	var all strings.Builder
	for _, name := range Libraries() {
		for _, via := range []Via{ViaSentinel, ViaService} {
			library, err := Find(name)
			if err != nil {
				t.Fatal(err)
			}
			text, err := library.Render(s, via)
			if err != nil {
				text = "error: " + err.Error() + "\n"
			} else if library.Language == "Go" {
				if _, err := parser.ParseExpr("func() {\n" + text + "}"); err != nil {
					t.Errorf("%s via %s is no Go: %v\n%s", name, via, err, text)
				}
			}
			all.WriteString("== " + name + ", " + string(via) + "\n" + text)
		}
	}
	return all.String()
}

func TestRendering(t *testing.T) {
	valkey, set := sample()
	guarded := set.DeepCopy()
	guarded.Spec.Users = []v1alpha1.UserSpec{{Name: "finder", PasswordSecret: &v1alpha1.PasswordSecretRef{Name: "finder", Keys: []string{"pw"}}}}
	shown := Of(valkey, set, closed, DefaultClusterDomain)
	shown.Password = `quo"te`
	encrypted, encryptedSet := valkey.DeepCopy(), guarded.DeepCopy()
	encrypted.Spec.Networking.TLS = &v1alpha1.TLSSpec{Enabled: true, SecretName: "certs"}
	encryptedSet.Spec.Networking.TLS = encrypted.Spec.Networking.TLS
	apart, apartSet := encrypted.DeepCopy(), set.DeepCopy()
	apart.Spec.Networking.TLS.ClientCertificates = v1alpha1.ClientCertificatesRequired
	apartSet.Spec.Networking.TLS = &v1alpha1.TLSSpec{Enabled: true, SecretName: "other"}
	for name, s := range map[string]Settings{
		"open":          Of(valkey, set, open, DefaultClusterDomain),
		"closed":        Of(valkey, guarded, closed, "example.org"),
		"shown":         shown,
		"tls":           Of(encrypted, encryptedSet, closed, DefaultClusterDomain),
		"tls-required":  Of(apart, apartSet, open, DefaultClusterDomain),
		"no-sentinels":  Of(valkey, nil, open, DefaultClusterDomain),
		"open-but-user": Of(valkey, set, credential.Account{User: "guest", Open: true}, DefaultClusterDomain),
	} {
		t.Run(name, func(t *testing.T) {
			got, file := render(t, s), filepath.Join("testdata", name+".txt")
			if *update {
				if err := os.WriteFile(file, []byte(got), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(file)
			if err != nil || got != string(want) {
				t.Errorf("%s differs (-update rewrites it): %v\n%s", file, err, got)
			}
		})
	}
}

func TestThePasswordIsOnlyShownOnRequest(t *testing.T) {
	valkey, set := sample()
	s := Of(valkey, set, closed, DefaultClusterDomain)
	if s.Password != "" || s.Secret != "app-password" || s.Key != "password" || s.User != "app" {
		t.Errorf("got %+v", s)
	}
	if text := render(t, s); !strings.Contains(text, EnvPassword) {
		t.Error("nothing says where the password goes")
	}
}

func TestDomain(t *testing.T) {
	valkey, _ := sample()
	if got := DomainOf(valkey); got != DefaultClusterDomain {
		t.Errorf("without a primary: %s", got)
	}
	valkey.Status.PrimaryAddress = "valkey-cache-0-0.valkey-cache-0.demo.svc.example.org:6379"
	if got := DomainOf(valkey); got != "example.org" {
		t.Errorf("got %s", got)
	}
}

func TestAnUnknownLibraryIsAnswered(t *testing.T) {
	if _, err := Find("jedis"); err == nil || !strings.Contains(err.Error(), "go-redis") {
		t.Errorf("got %v", err)
	}
}

func condition(status metav1.ConditionStatus, reason, message string) []metav1.Condition {
	return []metav1.Condition{{Type: v1alpha1.ConditionEncrypted, Status: status, Reason: reason, Message: message}}
}

// Beside plaintext the code is that for plaintext, and TLS is said to be elsewhere.
func TestTLSBesidePlaintext(t *testing.T) {
	valkey, set := sample()
	plain := render(t, Of(valkey, set, closed, DefaultClusterDomain))
	beside := &v1alpha1.TLSSpec{Enabled: true, SecretName: "certs", AllowUnencrypted: true}
	valkey.Spec.Networking.TLS, set.Spec.Networking.TLS = beside, beside
	valkey.Status.Conditions = condition(metav1.ConditionFalse, v1alpha1.ReasonPlaintextServed, "as it is asked for")
	set.Status.Conditions = valkey.Status.Conditions
	s := Of(valkey, set, closed, DefaultClusterDomain)
	if got := render(t, s); got != plain {
		t.Errorf("other code than without TLS:\n%s", got)
	}
	want := TLS{
		Write: Address{"valkey-cache-primary.demo.svc.cluster.local", 16379}, Read: Address{"valkey-cache-replicas.demo.svc.cluster.local", 16379},
		Authority: Key{"certs", "ca.crt"}, SentinelAuthority: &Key{"certs", "ca.crt"},
	}
	if !reflect.DeepEqual(*s.TLS, want) || s.Write.Port != 6379 {
		t.Errorf("got %+v", s.TLS)
	}
	port := int32(7000)
	valkey.Spec.Networking.TLS = &v1alpha1.TLSSpec{Enabled: true, AllowUnencrypted: true, Port: &port, CertManager: &v1alpha1.CertManagerSpec{}}
	if s := Of(valkey, set, closed, DefaultClusterDomain); s.TLS.Write.Port != 7000 || s.TLS.Read.Port != 7000 || s.TLS.Authority.Secret != "valkey-cache-tls" {
		t.Errorf("got %+v", s.TLS)
	}
}

func TestTLSThatIsNotYet(t *testing.T) {
	for name, c := range map[string]struct {
		beside      bool
		valkey, set []metav1.Condition
		want        string
	}{
		"nobody said anything":  {false, nil, nil, "not on record yet"},
		"all is well":           {false, condition(metav1.ConditionTrue, "AsExpected", ""), condition(metav1.ConditionTrue, "AsExpected", ""), ""},
		"plaintext is still on": {false, condition(metav1.ConditionFalse, v1alpha1.ReasonPlaintextServed, "so far"), nil, "PlaintextServed: so far"},
		"on its way":            {true, condition(metav1.ConditionFalse, v1alpha1.ReasonPreparingTLS, ""), nil, "PreparingTLS"},
		"the Sentinels are not": {false, condition(metav1.ConditionTrue, "AsExpected", ""), condition(metav1.ConditionFalse, v1alpha1.ReasonSecretMissing, "no Secret"), "SecretMissing: no Secret"},
	} {
		t.Run(name, func(t *testing.T) {
			valkey, set := sample()
			valkey.Spec.Networking.TLS = &v1alpha1.TLSSpec{Enabled: true, SecretName: "certs", AllowUnencrypted: c.beside}
			set.Spec.Networking.TLS = valkey.Spec.Networking.TLS
			valkey.Status.Conditions, set.Status.Conditions = c.valkey, c.set
			if got := Of(valkey, set, open, DefaultClusterDomain).TLS.Pending; got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}
