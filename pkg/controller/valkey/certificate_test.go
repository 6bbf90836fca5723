// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package valkey

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/valkeykube/valkeykube/pkg/apis/valkey/v1alpha1"
	"github.com/valkeykube/valkeykube/pkg/controller/issuance"
	"github.com/valkeykube/valkeykube/pkg/desired"
	"github.com/valkeykube/valkeykube/pkg/discovery"
	"github.com/valkeykube/valkeykube/pkg/naming"
)

// labSecrets reads the Secrets of a lab.
type labSecrets struct{ l *lab }

func (s labSecrets) SecretData(ctx context.Context, namespace, name string) (map[string][]byte, error) {
	secret := &corev1.Secret{}
	err := s.l.kube.Get(ctx, types.NamespacedName{Namespace: namespace, Name: name}, secret)
	return secret.Data, err
}

func asksCertManager(spec *v1alpha1.ValkeySpec) {
	issuer := v1alpha1.IssuerRef{Name: "inner", Kind: "Issuer", Group: "cert-manager.io"}
	spec.Networking.TLS = &v1alpha1.TLSSpec{Enabled: true, CertManager: &v1alpha1.CertManagerSpec{IssuerRef: issuer}}
}

func (l *lab) certificate() (*unstructured.Unstructured, error) {
	live := issuance.Blank()
	err := l.kube.Get(l.t.Context(), types.NamespacedName{Namespace: testNamespace, Name: naming.ValkeyCertificate(testName)}, live)
	return live, err
}

// A running Valkey asks for a certificate, and goes on in plaintext while there is none; the Certificate is written once, and goes when it is no
// longer asked for.
func TestACertificateIsAskedFor(t *testing.T) {
	l := newLab(t)
	l.controller.deps.Certificates = &discovery.Certificates{Secrets: labSecrets{l}}
	l.makeValkey(nil)
	l.untilReady()
	l.change(asksCertManager)
	l.until("it is told that the certificate is waited for", func() error {
		return l.wantCondition(v1alpha1.ConditionEncrypted, metav1.ConditionFalse, v1alpha1.ReasonCertificateNotReady)
	})
	live, err := l.certificate()
	if err != nil || !desired.IsOwnedBy(live, l.valkey()) {
		t.Fatalf("the Certificate: %+v, %v", live, err)
	}
	l.pass() // which is told that cert-manager has said nothing
	l.written()
	for range 3 {
		l.pass()
	}
	if writes := l.written(); len(writes) > 0 {
		t.Errorf("while it waits: %v", writes)
	}
	for kind, want := range map[string]metav1.ConditionStatus{
		v1alpha1.ConditionReady: metav1.ConditionTrue, v1alpha1.ConditionProgressing: metav1.ConditionTrue, v1alpha1.ConditionDegraded: metav1.ConditionFalse,
	} {
		if err := l.wantCondition(kind, want, ""); err != nil {
			t.Error(err)
		}
	}
	l.change(func(spec *v1alpha1.ValkeySpec) { spec.Networking.TLS.CertManager.IssuerRef.Name = "outer" })
	l.until("another issuer is asked", func() error {
		live, err := l.certificate()
		if name, _, _ := unstructured.NestedString(live.Object, "spec", "issuerRef", "name"); err != nil || name != "outer" {
			return fmt.Errorf("%s, %w", name, err)
		}
		return nil
	})
	l.change(func(spec *v1alpha1.ValkeySpec) { spec.Networking.TLS = nil })
	l.until("the Certificate is gone", func() error {
		if _, err := l.certificate(); !apierrors.IsNotFound(err) {
			return fmt.Errorf("it is there: %w", err)
		}
		return nil
	})
	l.untilReady()
}

func TestACertificateOfSomebodyElseIsLeftAlone(t *testing.T) {
	l := newLab(t)
	l.controller.deps.Certificates = &discovery.Certificates{Secrets: labSecrets{l}}
	theirs := issuance.Blank()
	theirs.SetNamespace(testNamespace)
	theirs.SetName(naming.ValkeyCertificate(testName))
	l.create(theirs)
	l.makeValkey(nil)
	l.untilReady()
	l.change(asksCertManager)
	l.until("the conflict is told", func() error {
		return l.wantCondition(v1alpha1.ConditionEncrypted, metav1.ConditionFalse, v1alpha1.ReasonForeignObject)
	})
	l.change(func(spec *v1alpha1.ValkeySpec) { spec.Networking.TLS = nil })
	l.untilReady()
	if live, err := l.certificate(); err != nil || len(live.GetOwnerReferences()) > 0 || live.Object["spec"] != nil {
		t.Errorf("their Certificate was changed: %+v, %v", live, err)
	}
}

// What the API refuses of the Certificate is told, and everything else goes on.
func TestACertificateThatIsRefused(t *testing.T) {
	l := newLab(t)
	l.controller.deps.Certificates = &discovery.Certificates{Secrets: labSecrets{l}}
	l.makeValkey(nil)
	l.untilReady()
	l.refuse = func(what string) error {
		if strings.Contains(what, "nstructured") {
			return apierrors.NewForbidden(corev1.Resource("certificates"), "x", errors.New("a policy"))
		}
		return nil
	}
	l.change(asksCertManager)
	l.until("the refusal is told", func() error {
		return errors.Join(l.wantCondition(v1alpha1.ConditionDegraded, metav1.ConditionTrue, ""), l.wantCondition(v1alpha1.ConditionReady, metav1.ConditionTrue, ""))
	})
	l.refuse = nil
}
