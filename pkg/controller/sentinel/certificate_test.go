// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package sentinel

import (
	"context"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/types"

	"github.com/valkeykube/valkeykube/pkg/apis/valkey/v1alpha1"
	"github.com/valkeykube/valkeykube/pkg/controller/issuance"
	"github.com/valkeykube/valkeykube/pkg/desired"
	"github.com/valkeykube/valkeykube/pkg/discovery"
	"github.com/valkeykube/valkeykube/pkg/naming"
	"github.com/valkeykube/valkeykube/pkg/valkeyclient/valkeytest"
)

// clusterSecrets reads the Secrets of a cluster.
type clusterSecrets struct{ c *cluster }

func (s clusterSecrets) SecretData(ctx context.Context, namespace, name string) (map[string][]byte, error) {
	secret := &corev1.Secret{}
	err := s.c.kube.Get(ctx, types.NamespacedName{Namespace: namespace, Name: name}, secret)
	return secret.Data, err
}

// setTLS asks for TLS, or for none.
func (c *cluster) setTLS(tls *v1alpha1.TLSSpec) {
	c.t.Helper()
	set := c.set()
	set.Spec.Networking.TLS = tls
	set.Generation++
	if err := c.kube.Update(c.t.Context(), set); err != nil {
		c.t.Fatal(err)
	}
	c.pass()
	c.pass()
}

// The Certificate is made once, waited for, and removed when it is no longer asked for; somebody else's is left alone.
func TestACertificateIsAskedFor(t *testing.T) {
	c := startCluster(t, valkeytest.Default(t), 3)
	c.controller.deps.Certificates = &discovery.Certificates{Secrets: clusterSecrets{c}}
	c.pass()
	issuer := v1alpha1.IssuerRef{Name: "inner", Kind: "Issuer", Group: "cert-manager.io"}
	asks := &v1alpha1.TLSSpec{Enabled: true, CertManager: &v1alpha1.CertManagerSpec{IssuerRef: issuer}}
	key := types.NamespacedName{Namespace: testNamespace, Name: naming.SentinelCertificate(testSet)}
	c.setTLS(asks)
	live := issuance.Blank()
	if err := c.kube.Get(t.Context(), key, live); err != nil || !desired.IsOwnedBy(live, c.set()) {
		t.Fatalf("the Certificate: %+v, %v", live, err)
	}
	for kind, reason := range map[string]string{v1alpha1.ConditionEncrypted: v1alpha1.ReasonCertificateNotReady, v1alpha1.ConditionProgressing: v1alpha1.ReasonCertificateNotReady} {
		if said := meta.FindStatusCondition(c.set().Status.Conditions, kind); said == nil || said.Reason != reason {
			t.Errorf("%s is %+v", kind, said)
		}
	}
	if said := meta.FindStatusCondition(c.set().Status.Conditions, v1alpha1.ConditionDegraded); said == nil || strings.Contains(said.Message, "Certificate") {
		t.Errorf("what is on its way is no degradation: %+v", said)
	}
	version := live.GetResourceVersion()
	c.pass()
	if err := c.kube.Get(t.Context(), key, live); err != nil || live.GetResourceVersion() != version {
		t.Errorf("it was written again: %v", err)
	}
	c.setTLS(nil)
	if err := c.kube.Get(t.Context(), key, live); !apierrors.IsNotFound(err) {
		t.Errorf("it is there although nobody asks for it: %v", err)
	}
	theirs := issuance.Blank()
	theirs.SetNamespace(key.Namespace)
	theirs.SetName(key.Name)
	c.create(theirs)
	c.setTLS(asks)
	if said := meta.FindStatusCondition(c.set().Status.Conditions, v1alpha1.ConditionEncrypted); said == nil || said.Reason != v1alpha1.ReasonForeignObject {
		t.Errorf("Encrypted is %+v", said)
	}
	c.setTLS(nil)
	if err := c.kube.Get(t.Context(), key, live); err != nil || len(live.GetOwnerReferences()) > 0 || live.Object["spec"] != nil {
		t.Errorf("their Certificate was changed: %+v, %v", live, err)
	}
}
