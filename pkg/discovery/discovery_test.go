// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package discovery

import (
	"context"
	"errors"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/valkeykube/valkeykube/pkg/apis/valkey/v1alpha1"
	"github.com/valkeykube/valkeykube/pkg/naming"
)

type secrets map[string]map[string][]byte

var errMissing = errors.New("not found")

func (s secrets) SecretData(_ context.Context, namespace, name string) (map[string][]byte, error) {
	data, ok := s[namespace+"/"+name]
	if !ok {
		return nil, errMissing
	}
	return data, nil
}

func resolver(s secrets) Resolver {
	return Resolver{Secrets: s, Addresses: ClusterAddresses{Domain: "cluster.local"}, User: naming.UserAPIServer}
}

func TestMembers(t *testing.T) {
	valkey := &v1alpha1.Valkey{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "v"}}
	nodes := []v1alpha1.ValkeyNode{
		{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "v-0"}, Status: v1alpha1.ValkeyNodeStatus{PodIP: "10.0.0.7"}},
		{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "v-3"}},
	}
	members, err := resolver(secrets{"ns/internal-v-system-passwords": {"_apiserver": []byte("secret")}}).Members(t.Context(), valkey, nodes)
	if err != nil {
		t.Fatal(err)
	}
	if len(members) != 2 || members[0].Target.Name != "v-0" || members[1].Target.Name != "v-3" {
		t.Fatalf("got %v", members)
	}
	if got, want := members[1].Target.Address, "valkey-v-3-0.valkey-v-3.ns.svc.cluster.local:6379"; got != want {
		t.Errorf("address %q, want %q", got, want)
	}
	if login := members[0].Target.Credentials; login.Username != "_apiserver" || login.Password != "secret" {
		t.Errorf("wrong login %v", login)
	}
	if len(members[0].Aliases) != 1 || members[0].Aliases[0] != "10.0.0.7" || members[1].Aliases != nil {
		t.Errorf("aliases %v and %v", members[0].Aliases, members[1].Aliases)
	}
}

func TestSentinels(t *testing.T) {
	set := &v1alpha1.ValkeySentinel{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "s"}}
	set.Spec.Replicas, set.Status.Replicas = 3, 5
	targets, err := resolver(secrets{"ns/internal-sentinel-s-system-passwords": {"_apiserver": []byte("secret")}}).Sentinels(t.Context(), set)
	if err != nil {
		t.Fatal(err)
	}
	if len(targets) != 5 {
		t.Fatalf("%d targets while the set shrinks from 5 to 3", len(targets))
	}
	if got, want := targets[2].Address, "valkey-sentinel-s-2.valkey-sentinel-s.ns.svc.cluster.local:26379"; got != want {
		t.Errorf("address %q, want %q", got, want)
	}
	if targets[2].Name != "valkey-sentinel-s-2" || targets[2].Credentials.Password != "secret" {
		t.Errorf("got %v", targets[2])
	}
}

func TestNoCredentials(t *testing.T) {
	valkey := &v1alpha1.Valkey{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "v"}}
	_, err := resolver(nil).Members(t.Context(), valkey, nil)
	if !errors.Is(err, ErrNoCredentials) || !errors.Is(err, errMissing) {
		t.Errorf("without the Secret: %v", err)
	}
	_, err = resolver(secrets{"ns/internal-v-system-passwords": {"_operator": []byte("other-secret")}}).Members(t.Context(), valkey, nil)
	if !errors.Is(err, ErrNoCredentials) || !strings.Contains(err.Error(), "internal-v-system-passwords has no key _apiserver") {
		t.Errorf("without the key: %v", err)
	}
	if strings.Contains(err.Error(), "other-secret") {
		t.Errorf("a password is in the error: %v", err)
	}
}
