// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build integration

package issuance

import (
	"fmt"
	"path/filepath"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	clientscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	"github.com/valkeykube/valkeykube/pkg/apis/valkey/v1alpha1"
	"github.com/valkeykube/valkeykube/pkg/controller/issuance"
	"github.com/valkeykube/valkeykube/pkg/desired"
	"github.com/valkeykube/valkeykube/pkg/naming"
)

const (
	name = "valkey-cache-tls"
	// patience is for an API server to begin, or to stop, serving a kind.
	patience = 30 * time.Second
)

// world is a kube-apiserver and a Desk, for which no time passes between two looks unless it is said.
type world struct {
	t      *testing.T
	config *rest.Config
	api    client.Client
	desk   issuance.Desk
	now    time.Time
	valkey *v1alpha1.Valkey
}

func start(t *testing.T) *world {
	t.Helper()
	environment := &envtest.Environment{}
	config, err := environment.Start()
	if err != nil {
		t.Fatalf("start kube-apiserver and etcd: %v", err)
	}
	t.Cleanup(func() {
		if err := environment.Stop(); err != nil {
			t.Error(err)
		}
	})
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientscheme.AddToScheme, v1alpha1.AddToScheme} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	api, err := client.New(config, client.Options{Scheme: scheme})
	if err != nil {
		t.Fatal(err)
	}
	w := &world{t: t, config: config, api: api, now: time.Now()}
	w.desk = issuance.Desk{Cache: api, API: api, Now: func() time.Time { return w.now }}
	w.valkey = &v1alpha1.Valkey{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "cache", UID: "uid"}}
	w.valkey.Spec.Networking.TLS = &v1alpha1.TLSSpec{Enabled: true, CertManager: &v1alpha1.CertManagerSpec{
		IssuerRef: v1alpha1.IssuerRef{Name: "inner", Kind: "Issuer", Group: "cert-manager.io"}}}
	return w
}

func (w *world) look() desired.Issuance {
	w.t.Helper()
	found, err := w.desk.Look(w.t.Context(), w.valkey, name, true)
	if err != nil {
		w.t.Fatal(err)
	}
	return found
}

func (w *world) apply(nodes int) desired.Foreign {
	w.t.Helper()
	want := desired.Foreign{Unstructured: desired.ValkeyCertificate(w.valkey, nodes, "cluster.local")}
	if err := w.api.Apply(w.t.Context(), issuance.Applicable(want), client.FieldOwner(naming.FieldManager), client.ForceOwnership); err != nil {
		w.t.Fatal(err)
	}
	return want
}

// until looks again, when what is remembered is over, until the check is content.
func (w *world) until(what string, check func(desired.Issuance) bool) {
	w.t.Helper()
	deadline := time.Now().Add(patience)
	for {
		w.now = w.now.Add(time.Minute)
		found := w.look()
		if check(found) {
			return
		}
		if time.Now().After(deadline) {
			w.t.Fatalf("%s: %s, %+v", what, found.Lacking, found.Live)
		}
		time.Sleep(50 * time.Millisecond)
	}
}

// A cluster that gets cert-manager, and loses it: what is there is seen, with the same client all the time, and a second apply would change nothing.
func TestTheKindComesAndGoes(t *testing.T) {
	w := start(t)
	lacking := func(found desired.Issuance) bool { return found.Live == nil && found.Lacking != "" }
	if found := w.look(); !lacking(found) {
		t.Fatalf("without the kind: %+v", found)
	}
	crds, err := envtest.InstallCRDs(w.config, envtest.CRDInstallOptions{Paths: []string{filepath.Join("..", "..", "e2e", "testdata", "certificates.yaml")}, ErrorIfPathMissing: true})
	if err != nil {
		t.Fatal(err)
	}
	if found := w.look(); !lacking(found) {
		t.Errorf("what was just looked for is looked for again: %+v", found)
	}
	w.until("with the kind", func(found desired.Issuance) bool { return found == (desired.Issuance{}) })
	for _, nodes := range []int{1, 17} {
		want := w.apply(nodes)
		found := w.look()
		if same, err := desired.IsApplied(found.Live, want); err != nil || !same || !found.IsOurs(w.valkey) {
			t.Errorf("%d nodes: a second pass would apply again: %t, %v: %+v", nodes, same, err, found.Live)
		}
		version := found.Live.GetResourceVersion()
		if w.apply(nodes); w.look().Live.GetResourceVersion() != version {
			t.Error("a second apply changes something")
		}
	}
	if smaller := (desired.Foreign{Unstructured: desired.ValkeyCertificate(w.valkey, 1, "cluster.local")}); isApplied(t, w.look().Live, smaller) {
		t.Error("names that are too many are not seen")
	}
	uid := w.look().Live.GetUID()
	gone := issuance.Blank()
	gone.SetNamespace(w.valkey.Namespace)
	gone.SetName(name)
	if err := w.api.Delete(t.Context(), gone, client.Preconditions{UID: &uid}); err != nil {
		t.Fatal(err)
	}
	if found := w.look(); found != (desired.Issuance{}) {
		t.Errorf("after it was deleted: %+v", found)
	}
	w.apply(1)
	if err := envtest.UninstallCRDs(w.config, envtest.CRDInstallOptions{CRDs: crds}); err != nil && !apierrors.IsNotFound(err) {
		t.Fatal(err)
	}
	w.until("the kind is gone", lacking)
	if said := w.look().Of(desired.Certificate{Serial: "1"}, w.valkey, name); said.Reason != v1alpha1.ReasonCertManagerMissing {
		t.Errorf("it is said: %s", fmt.Sprint(said))
	}
}

func isApplied(t *testing.T, live *unstructured.Unstructured, want desired.Foreign) bool {
	t.Helper()
	same, err := desired.IsApplied(live, want)
	if err != nil {
		t.Fatal(err)
	}
	return same
}
