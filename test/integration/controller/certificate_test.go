// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build integration

package controller

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	"github.com/valkeykube/valkeykube/pkg/apis/valkey/v1alpha1"
	"github.com/valkeykube/valkeykube/pkg/desired"
	"github.com/valkeykube/valkeykube/pkg/naming"
)

// TestCertificatesWithTheRightsOfTheManifests: the controller does without cert-manager and says so; when that is there it is asked, its words are
// repeated, and what is no longer asked for is removed. Of pods nothing is needed for that.
func TestCertificatesWithTheRightsOfTheManifests(t *testing.T) {
	c := startCluster(t)
	c.install(t, "")
	options := c.controllerOptions(t)
	options.ServingCert = false // nobody serves with it here
	ended := run(t, options)
	eventually(t, ended, "health", func() error { return isHealthy(options.HealthAddress) })
	c.serveKinds(t)
	owners := map[string]*unstructured.Unstructured{}
	for kind, certificate := range map[string]string{
		desired.KindValkey: naming.ValkeyCertificate("cache"), desired.KindValkeySentinel: naming.SentinelCertificate("cache"),
	} {
		owner := &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": v1alpha1.SchemeGroupVersion.String(), "kind": kind, "metadata": map[string]any{"namespace": "default", "name": "cache"},
			"spec": map[string]any{"replicas": int64(3), "image": v1alpha1.DefaultImage, "networking": map[string]any{"tls": map[string]any{"enabled": true,
				"certManager": map[string]any{"issuerRef": map[string]any{"name": "inner", "kind": "Issuer", "group": "cert-manager.io"}}}}},
		}}
		if err := c.client.Create(t.Context(), owner); err != nil {
			t.Fatal(err)
		}
		owners[certificate] = owner
	}
	// The status of a Valkey is written in protobuf, which what stands in for our API server does not speak.
	says := func(words string) {
		t.Helper()
		owner := owners[naming.SentinelCertificate("cache")]
		eventually(t, ended, "the ValkeySentinel says "+words, func() error { return c.encryptedSays(t, owner, words) })
	}
	says(v1alpha1.ReasonCertManagerMissing + ": the cluster has no kind Certificate.cert-manager.io")
	paths := []string{filepath.Join("..", "..", "e2e", "testdata", "certificates.yaml")}
	if _, err := envtest.InstallCRDs(c.config, envtest.CRDInstallOptions{Paths: paths, ErrorIfPathMissing: true}); err != nil {
		t.Fatal(err)
	}
	for name, owner := range owners {
		certificate := newCertificate()
		key := client.ObjectKey{Namespace: "default", Name: name}
		eventually(t, ended, name+" is asked for", func() error { return c.client.Get(t.Context(), key, certificate) })
		if !desired.IsOwnedBy(certificate, owner) {
			t.Errorf("%s belongs to %+v", name, certificate.GetOwnerReferences())
		}
		certificate.Object["status"] = map[string]any{"conditions": []any{
			map[string]any{"type": "Ready", "status": "False", "reason": "Pending", "message": "no such issuer", "observedGeneration": certificate.GetGeneration()}}}
		if err := c.client.Status().Update(t.Context(), certificate); err != nil {
			t.Fatal(err)
		}
	}
	says("is not Ready: Pending: no such issuer")
	for name, owner := range owners {
		without := client.RawPatch("application/merge-patch+json", []byte(`{"spec":{"networking":{"tls":null}}}`))
		if err := c.client.Patch(t.Context(), owner, without); err != nil {
			t.Fatal(err)
		}
		eventually(t, ended, name+" is removed", func() error {
			if err := c.client.Get(t.Context(), client.ObjectKey{Namespace: "default", Name: name}, newCertificate()); !apierrors.IsNotFound(err) {
				return fmt.Errorf("it is there: %w", err)
			}
			return nil
		})
	}
}

func newCertificate() *unstructured.Unstructured {
	certificate := &unstructured.Unstructured{}
	certificate.SetGroupVersionKind(desired.CertificateKind)
	return certificate
}

// encryptedSays is an error unless the condition Encrypted is False and has the words.
func (c *cluster) encryptedSays(t *testing.T, owner *unstructured.Unstructured, words string) error {
	t.Helper()
	if err := c.client.Get(t.Context(), client.ObjectKeyFromObject(owner), owner); err != nil {
		return err
	}
	conditions, _, _ := unstructured.NestedSlice(owner.Object, "status", "conditions")
	for _, one := range conditions {
		condition, _ := one.(map[string]any)
		if condition["type"] == v1alpha1.ConditionEncrypted {
			said := fmt.Sprintf("%s: %s", condition["reason"], condition["message"])
			if condition["status"] == "False" && strings.Contains(said, words) {
				return nil
			}
			return fmt.Errorf("it says %s", said)
		}
	}
	return fmt.Errorf("it says nothing: %+v", conditions)
}
