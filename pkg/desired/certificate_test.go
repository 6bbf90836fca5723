// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package desired

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"

	"github.com/valkeykube/valkeykube/pkg/apis/valkey/v1alpha1"
	"github.com/valkeykube/valkeykube/pkg/naming"
)

func byCertManager(extra ...string) *v1alpha1.TLSSpec {
	issuer := v1alpha1.IssuerRef{Name: "inner", Kind: "ClusterIssuer", Group: "cert-manager.io"}
	return &v1alpha1.TLSSpec{Enabled: true, CertManager: &v1alpha1.CertManagerSpec{IssuerRef: issuer, ExtraDNSNames: extra}}
}

func asking(extra ...string) *v1alpha1.Valkey {
	return testValkey(func(spec *v1alpha1.ValkeySpec) { spec.Networking.TLS = byCertManager(extra...) })
}

func TestCertificates(t *testing.T) {
	golden(t, "valkey_certificate", ValkeyCertificate(asking("cache.example.com", "valkey-v-primary"), 3, "cluster.local"))
	set := plainSet()
	set.Spec.Networking.TLS = byCertManager()
	golden(t, "sentinel_certificate", SentinelCertificate(set, "cluster.local"))
	set.Spec.Networking.TLS.Enabled = false
	if SentinelCertificate(set, "cluster.local") != nil || ValkeyCertificate(testValkey(nil), 1, "cluster.local") != nil {
		t.Error("a certificate is asked for without TLS")
	}
}

// The names of nodes: none is left out, and scaling to no more than there are names for asks for no other certificate.
func TestCertificateNamesEveryNode(t *testing.T) {
	for nodes, want := range map[int]int{1: 16, 15: 16, 16: 16, 17: 32, 999: 1008} {
		certificate := ValkeyCertificate(asking(), nodes, "cluster.local")
		names, _, err := unstructured.NestedStringSlice(certificate.Object, "spec", "dnsNames")
		if err != nil {
			t.Fatal(err)
		}
		wildcards := 0
		for _, name := range names {
			if strings.HasPrefix(name, "*.") {
				wildcards++
			}
		}
		last := naming.NodeHost(naming.NodeName("v", nodes-1), "ns", "cluster.local")
		if _, below, _ := strings.Cut(last, "."); wildcards != want || !slices.Contains(names, "*."+below) {
			t.Errorf("%d nodes: %d wildcards, want %d, and one for %s", nodes, wildcards, want, last)
		}
	}
}

func TestForeignKindsAreCompared(t *testing.T) {
	live := ValkeyCertificate(asking(), 1, "cluster.local")
	live.SetResourceVersion("5")
	change(live, "theirs", "spec", "secretTemplate", "labels", "added")
	for name, c := range map[string]struct {
		want    *unstructured.Unstructured
		applied bool
	}{
		"as it is":       {ValkeyCertificate(asking(), 2, "cluster.local"), true},
		"another issuer": {change(ValkeyCertificate(asking(), 1, "cluster.local"), "other", "spec", "issuerRef", "name"), false},
		"another name":   {ValkeyCertificate(asking("extra.example.com"), 1, "cluster.local"), false},
		"more nodes":     {ValkeyCertificate(asking(), 17, "cluster.local"), false},
	} {
		if applied, err := IsApplied(live, Foreign{c.want}); err != nil || applied != c.applied {
			t.Errorf("%s: %t, %v", name, applied, err)
		}
	}
	if _, err := IsApplied(live, corev1ac.Secret("a", "b")); err == nil {
		t.Error("a Certificate is compared with a Secret")
	}
}

func change(object *unstructured.Unstructured, value any, path ...string) *unstructured.Unstructured {
	if err := unstructured.SetNestedField(object.Object, value, path...); err != nil {
		panic(err)
	}
	return object
}

// What is said of a certificate that cert-manager is asked for.
func TestIssuance(t *testing.T) {
	valkey := asking()
	live := func(condition map[string]any) *unstructured.Unstructured {
		certificate := ValkeyCertificate(valkey, 1, "cluster.local")
		certificate.SetGeneration(2)
		if condition != nil {
			certificate.Object["status"] = map[string]any{"conditions": []any{map[string]any{"type": "Issuing", "status": "True"}, condition}}
		}
		return certificate
	}
	ready := map[string]any{"type": "Ready", "status": "True", "reason": "Ready", "observedGeneration": int64(2)}
	foreign := live(ready)
	foreign.SetOwnerReferences(nil)
	for name, c := range map[string]struct {
		issuance       Issuance
		reason, answer string
	}{
		"nothing yet":           {Issuance{}, v1alpha1.ReasonCertificateNotReady, "is being asked for"},
		"no cert-manager":       {Issuance{Lacking: "no such kind"}, v1alpha1.ReasonCertManagerMissing, "no such kind; or name a Secret"},
		"somebody else's":       {Issuance{Live: foreign}, v1alpha1.ReasonForeignObject, "delete it"},
		"nobody has seen it":    {Issuance{Live: live(nil)}, v1alpha1.ReasonCertificateNotReady, "is it running?"},
		"refused by the issuer": {Issuance{Live: live(map[string]any{"type": "Ready", "status": "False", "reason": "DoesNotExist", "message": "no such Secret"})}, v1alpha1.ReasonCertificateNotReady, "Certificate valkey-v-tls is not Ready: DoesNotExist: no such Secret"},
		"ready before a change": {Issuance{Live: live(map[string]any{"type": "Ready", "status": "True", "observedGeneration": int64(1)})}, v1alpha1.ReasonCertificateNotReady, "since it was changed"},
		"ready":                 {Issuance{Live: live(ready)}, "", ""},
		"ready, of no spec":     {Issuance{Live: live(map[string]any{"type": "Ready", "status": "True"})}, "", ""},
	} {
		got := c.issuance.Of(Certificate{Serial: "1"}, valkey, "valkey-v-tls")
		if got.Serial != "1" || got.Reason != c.reason || !strings.Contains(got.Message, c.answer) || !strings.HasSuffix(fmt.Sprint(got), got.Message) {
			t.Errorf("%s: %+v", name, got)
		}
	}
	ours, going := live(ready), live(ready)
	now := metav1.Now()
	going.SetDeletionTimestamp(&now)
	for name, c := range map[string]struct {
		issuance Issuance
		removed  bool
	}{
		"there is none":   {Issuance{}, false},
		"somebody else's": {Issuance{Live: foreign}, false},
		"used":            {Issuance{Live: ours, UsedBy: "pod x"}, false},
		"being removed":   {Issuance{Live: going}, false},
		"left":            {Issuance{Live: ours}, true},
	} {
		if got := c.issuance.MayBeRemoved(valkey); got != c.removed {
			t.Errorf("%s: may be removed: %t", name, got)
		}
	}
}
