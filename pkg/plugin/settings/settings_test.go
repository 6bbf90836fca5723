// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package settings

import (
	"flag"
	"go/parser"
	"os"
	"path/filepath"
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
	for name, s := range map[string]Settings{
		"open":          Of(valkey, set, open, DefaultClusterDomain),
		"closed":        Of(valkey, guarded, closed, "example.org"),
		"shown":         shown,
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
