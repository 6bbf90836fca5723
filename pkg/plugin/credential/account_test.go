// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package credential

import (
	"errors"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"

	"github.com/valkeykube/valkeykube/pkg/apis/valkey/v1alpha1"
	"github.com/valkeykube/valkeykube/pkg/naming"
)

func valkey(users ...v1alpha1.UserSpec) *v1alpha1.Valkey {
	v := &v1alpha1.Valkey{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "cache"}}
	v.Spec.Users = users
	return v
}

func withSecret(user, secret string, keys ...string) v1alpha1.UserSpec {
	return v1alpha1.UserSpec{Name: user, PasswordSecret: &v1alpha1.PasswordSecretRef{Name: secret, Keys: keys}}
}

func TestWhoIsPreferred(t *testing.T) {
	off := false
	for name, c := range map[string]struct {
		users []v1alpha1.UserSpec
		want  string
	}{
		"without users the default one":     {nil, "default"},
		"the default one before others":     {[]v1alpha1.UserSpec{withSecret("app", "s"), {Name: "default", NoPass: true}}, "default"},
		"the first that can log in":         {[]v1alpha1.UserSpec{{Name: "off", NoPass: true, Enabled: &off}, {Name: "bare"}, withSecret("app", "s")}, "app"},
		"a reset user cannot":               {[]v1alpha1.UserSpec{{Name: "old", ResetPass: true}, {Name: "open", NoPass: true}}, "open"},
		"nobody, and not one of the system": {[]v1alpha1.UserSpec{{Name: "bare"}}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			got, ok := Preferred(OfValkey(valkey(c.users...), true))
			if ok != (c.want != "") || got.User != c.want {
				t.Errorf("got %+v, %v", got, ok)
			}
		})
	}
}

func TestSystemUsersAreListedOnRequest(t *testing.T) {
	if got := OfValkey(valkey(), false); len(got) != 1 || !got[0].Open {
		t.Errorf("got %+v", got)
	}
	operator, ok := Named(OfValkey(valkey(), true), naming.UserOperator)
	if !ok || operator.Secret != "internal-cache-system-passwords" || !operator.System {
		t.Errorf("got %+v", operator)
	}
	peer, ok := Named(OfSentinel(&v1alpha1.ValkeySentinel{ObjectMeta: metav1.ObjectMeta{Name: "watch"}}, true), naming.UserPeer)
	if !ok || peer.Plane != Sentinel || peer.Secret != naming.SentinelPasswordsSecret("watch") {
		t.Errorf("got %+v", peer)
	}
}

func TestPasswords(t *testing.T) {
	kube := fake.NewClientset(
		&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "app"}, Data: map[string][]byte{"b": []byte("second"), "a": []byte("first")}},
		&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "void"}},
		&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "locked"}, Data: map[string][]byte{"a": []byte("unseen")}},
	)
	kube.PrependReactor("get", "secrets", func(action clienttesting.Action) (bool, runtime.Object, error) {
		if name := action.(clienttesting.GetAction).GetName(); name == "locked" {
			return true, nil, apierrors.NewForbidden(corev1.Resource("secrets"), name, errors.New("no"))
		}
		return false, nil, nil
	})
	reader := Reader{Kube: kube, Namespace: "ns"}
	for name, c := range map[string]struct {
		account Account
		want    string
		problem string
	}{
		"none is needed":       {Account{Open: true}, "", ""},
		"the first key":        {Account{User: "u", Secret: "app"}, "first", ""},
		"the named key":        {Account{User: "u", Secret: "app", Keys: []string{"b"}}, "second", ""},
		"a key that is away":   {Account{User: "u", Secret: "app", Keys: []string{"c"}}, "", "Secret app holds no password"},
		"an empty Secret":      {Account{User: "u", Secret: "void"}, "", "Secret void holds no password"},
		"a Secret that is not": {Account{User: "u", Secret: "nowhere"}, "", `secrets "nowhere" not found`},
		"no right":             {Account{User: "u", Secret: "locked"}, "", ErrMayNotRead.Error()},
		"nobody can":           {Account{User: "u", Unusable: "disabled"}, "", "nobody can log in as u: disabled"},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := reader.Password(t.Context(), c.account)
			if got != c.want || (err == nil) != (c.problem == "") || err != nil && !strings.Contains(err.Error(), c.problem) {
				t.Errorf("got %q, %v", got, err)
			}
			if c.account.Secret == "locked" && !errors.Is(err, ErrMayNotRead) {
				t.Errorf("%v is not ErrMayNotRead", err)
			}
		})
	}
}
