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
	"github.com/valkeykube/valkeykube/pkg/valkeyclient"
	"github.com/valkeykube/valkeykube/pkg/valkeyclient/valkeytest"
)

func TestEncryption(t *testing.T) {
	authority := valkeytest.NewAuthority(t)
	one, two := authority.Issue("a"), authority.Issue("b")
	certs := func(name string, key []byte) *corev1.Secret {
		data := map[string][]byte{"ca.crt": authority.PEM, "tls.crt": one.Certificate, "tls.key": key}
		return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name}, Data: data}
	}
	kube := fake.NewClientset(certs("certs", one.Key), certs("mixed-up", two.Key), certs("locked", one.Key), certs("valkey-cache-tls", one.Key))
	kube.PrependReactor("get", "secrets", func(action clienttesting.Action) (bool, runtime.Object, error) {
		if name := action.(clienttesting.GetAction).GetName(); name == "locked" {
			return true, nil, apierrors.NewForbidden(corev1.Resource("secrets"), name, errors.New("no"))
		}
		return false, nil, nil
	})
	reader := Reader{Kube: kube, Namespace: "ns"}
	for name, c := range map[string]struct {
		tls       *v1alpha1.TLSSpec
		encrypted metav1.ConditionStatus
		on, mixed bool
		problem   error
		text      string
	}{
		"without TLS":                {nil, "", false, false, nil, ""},
		"not on":                     {&v1alpha1.TLSSpec{SecretName: "certs"}, "", false, false, nil, ""},
		"complete":                   {&v1alpha1.TLSSpec{Enabled: true, SecretName: "certs"}, metav1.ConditionTrue, true, false, nil, ""},
		"on its way":                 {&v1alpha1.TLSSpec{Enabled: true, SecretName: "certs"}, metav1.ConditionFalse, true, true, nil, ""},
		"nothing on record":          {&v1alpha1.TLSSpec{Enabled: true, SecretName: "certs"}, "", true, true, nil, ""},
		"on its way back":            {&v1alpha1.TLSSpec{Enabled: true, SecretName: "certs", AllowUnencrypted: true}, metav1.ConditionTrue, true, true, nil, ""},
		"by cert-manager":            {&v1alpha1.TLSSpec{Enabled: true, CertManager: &v1alpha1.CertManagerSpec{}}, metav1.ConditionTrue, true, false, nil, ""},
		"no right":                   {&v1alpha1.TLSSpec{Enabled: true, SecretName: "locked"}, metav1.ConditionTrue, false, false, ErrMayNotRead, "Secret locked"},
		"no right beside plaintext":  {&v1alpha1.TLSSpec{Enabled: true, SecretName: "locked", AllowUnencrypted: true}, metav1.ConditionFalse, false, false, nil, ""},
		"the key of another":         {&v1alpha1.TLSSpec{Enabled: true, SecretName: "mixed-up"}, metav1.ConditionTrue, false, false, valkeyclient.ErrCertificate, "Secret mixed-up"},
		"a Secret that is not there": {&v1alpha1.TLSSpec{Enabled: true, SecretName: "nowhere"}, metav1.ConditionTrue, false, false, nil, `secrets "nowhere" not found`},
	} {
		t.Run(name, func(t *testing.T) {
			v := valkey()
			v.Spec.Networking.TLS = c.tls
			if c.encrypted != "" {
				v.Status.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionEncrypted, Status: c.encrypted}}
			}
			got, err := reader.Encryption(t.Context(), v)
			if (got.Config != nil) != c.on || got.Mixed != c.mixed || (err == nil) != (c.problem == nil && c.text == "") {
				t.Errorf("got %t, mixed %t, %v", got.Config != nil, got.Mixed, err)
			}
			if c.problem != nil && !errors.Is(err, c.problem) || err != nil && (!strings.Contains(err.Error(), c.text) || strings.Contains(err.Error(), "PRIVATE")) {
				t.Errorf("got %v", err)
			}
			if c.on && len(got.Config.Certificates) != 1 {
				t.Error("there is no certificate to show")
			}
		})
	}
}
