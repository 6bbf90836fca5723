// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package etcdcert

import (
	"bytes"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"
)

const host = "valkey-etcd-2.valkey-etcd.system.svc"

type world struct {
	*Keeper
	now time.Time
}

func newWorld() *world {
	w := &world{now: time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)}
	w.Keeper = &Keeper{Kube: fake.NewClientset(), Namespace: "system", ClusterDomain: "cluster.local", Members: 3, Now: func() time.Time { return w.now }}
	return w
}

func (w *world) look(t *testing.T) {
	t.Helper()
	if err := w.Look(t.Context()); err != nil {
		t.Fatal(err)
	}
}

func (w *world) secret(t *testing.T, name string) *corev1.Secret {
	t.Helper()
	secret, err := w.Kube.CoreV1().Secrets("system").Get(t.Context(), name, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return secret
}

func TestCertificatesAreMadeAndStay(t *testing.T) {
	w := newWorld()
	w.look(t)
	ca, _, err := pairOf(w.secret(t, SecretCA)).parse()
	if err != nil || !ca.IsCA {
		t.Fatalf("no CA: %v", err)
	}
	member, _, err := pairOf(w.secret(t, SecretMember)).parse()
	if err != nil || member.CheckSignatureFrom(ca) != nil || member.VerifyHostname(host) != nil || member.VerifyHostname(host+".cluster.local") != nil {
		t.Errorf("the members' certificate: %v, %v", err, member.DNSNames)
	}
	client, _, err := pairOf(w.secret(t, SecretClient)).parse()
	if err != nil || client.CheckSignatureFrom(ca) != nil || client.Subject.CommonName == member.Subject.CommonName {
		t.Errorf("the API servers' certificate: %v, %v", err, client.Subject)
	}
	before := w.secret(t, SecretMember)
	w.now = w.now.Add(59 * 24 * time.Hour)
	w.look(t)
	if after := w.secret(t, SecretMember); !bytes.Equal(before.Data[corev1.TLSCertKey], after.Data[corev1.TLSCertKey]) {
		t.Error("it was renewed too early")
	}
	w.now = w.now.Add(2 * 24 * time.Hour)
	w.look(t)
	after := w.secret(t, SecretMember)
	if bytes.Equal(before.Data[corev1.TLSCertKey], after.Data[corev1.TLSCertKey]) {
		t.Error("it was not renewed")
	}
	if !bytes.Equal(before.Data[keyBundle], after.Data[keyBundle]) {
		t.Error("the CA changed with it")
	}
}

func TestALostCAIsNotReplaced(t *testing.T) {
	w := newWorld()
	w.look(t)
	before := w.secret(t, SecretMember)
	if err := w.Kube.CoreV1().Secrets("system").Delete(t.Context(), SecretCA, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := w.Look(t.Context()); err == nil || !strings.Contains(err.Error(), "put it back") {
		t.Errorf("got %v", err)
	}
	if after := w.secret(t, SecretMember); !bytes.Equal(before.Data[corev1.TLSCertKey], after.Data[corev1.TLSCertKey]) {
		t.Error("a certificate of another CA")
	}
}

func TestADamagedCertificateIsReplacedAndADamagedCAReported(t *testing.T) {
	w := newWorld()
	w.look(t)
	for name, isReplaced := range map[string]bool{SecretClient: true, SecretCA: false} {
		secret := w.secret(t, name)
		secret.Data[corev1.TLSCertKey] = []byte("damaged")
		if _, err := w.Kube.CoreV1().Secrets("system").Update(t.Context(), secret, metav1.UpdateOptions{}); err != nil {
			t.Fatal(err)
		}
		err := w.Look(t.Context())
		if _, _, damaged := pairOf(w.secret(t, name)).parse(); (err == nil) != isReplaced || (damaged == nil) != isReplaced {
			t.Errorf("%s: %v, %v", name, err, damaged)
		}
		if isReplaced {
			continue
		}
		if strings.Contains(err.Error(), string(secret.Data[corev1.TLSPrivateKeyKey])) {
			t.Error("the error holds the key")
		}
	}
}
