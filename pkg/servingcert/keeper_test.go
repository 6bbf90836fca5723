// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package servingcert

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"strconv"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	dynamicfake "k8s.io/client-go/dynamic/fake"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"

	"github.com/valkeykube/valkeykube/pkg/naming"
)

type world struct {
	t       *testing.T
	kube    *fake.Clientset
	dynamic *dynamicfake.FakeDynamicClient
	now     time.Time
	writes  int
}

// newWorld is an API with optimistic concurrency on Secrets, which the fake lacks.
func newWorld(t *testing.T, objects ...runtime.Object) *world {
	t.Helper()
	w := &world{t: t, kube: fake.NewClientset(), now: born}
	kinds := map[schema.GroupVersionResource]string{apiServices: "APIServiceList"}
	w.dynamic = dynamicfake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(), kinds, objects...)
	var mu sync.Mutex
	version := 0
	w.kube.PrependReactor("*", "secrets", func(action clienttesting.Action) (bool, runtime.Object, error) {
		var object runtime.Object
		switch action := action.(type) {
		case clienttesting.UpdateAction: // a create is one too, by its methods
			object = action.GetObject()
		default:
			return false, nil, nil
		}
		mu.Lock()
		defer mu.Unlock()
		secret := object.(*corev1.Secret)
		if action.GetVerb() == "update" && secret.ResourceVersion != strconv.Itoa(version) {
			return true, nil, apierrors.NewConflict(schema.GroupResource{Resource: "secrets"}, secret.Name, nil)
		}
		version++
		w.writes++
		secret.ResourceVersion = strconv.Itoa(version)
		return false, nil, nil
	})
	// The fake cannot apply without a schema: the only field that is ever applied is merged here.
	w.dynamic.PrependReactor("patch", "apiservices", func(action clienttesting.Action) (bool, runtime.Object, error) {
		mu.Lock()
		defer mu.Unlock()
		w.writes++
		live, err := w.dynamic.Tracker().Get(apiServices, "", naming.APIServiceName)
		if err != nil {
			return true, nil, err
		}
		var applied map[string]any
		if err := json.Unmarshal(action.(clienttesting.PatchAction).GetPatch(), &applied); err != nil {
			return true, nil, err
		}
		service := live.DeepCopyObject().(*unstructured.Unstructured)
		bundle, _, err := unstructured.NestedString(applied, "spec", "caBundle")
		if err != nil {
			return true, nil, err
		}
		if err := unstructured.SetNestedField(service.Object, bundle, "spec", "caBundle"); err != nil {
			return true, nil, err
		}
		return true, service, w.dynamic.Tracker().Update(apiServices, service, "")
	})
	return w
}

func apiService() *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "apiregistration.k8s.io/v1", "kind": "APIService",
		"metadata": map[string]any{"name": naming.APIServiceName},
		"spec":     map[string]any{"group": "valkey.io", "version": "v1alpha1"},
	}}
}

func (w *world) keeper() *Keeper {
	return &Keeper{Kube: w.kube, Dynamic: w.dynamic, Namespace: "valkey-system", ClusterDomain: "cluster.local", Now: func() time.Time { return w.now }}
}

func (w *world) secret() *corev1.Secret {
	w.t.Helper()
	secret, err := w.kube.CoreV1().Secrets("valkey-system").Get(context.Background(), naming.APIServerCertSecret, metav1.GetOptions{})
	if err != nil {
		w.t.Fatal(err)
	}
	return secret
}

func (w *world) caBundle() []byte {
	w.t.Helper()
	service, err := w.dynamic.Resource(apiServices).Get(context.Background(), naming.APIServiceName, metav1.GetOptions{})
	if err != nil {
		w.t.Fatal(err)
	}
	text, _, err := unstructured.NestedString(service.Object, "spec", "caBundle")
	if err != nil {
		w.t.Fatal(err)
	}
	bundle, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		w.t.Fatal(err)
	}
	return bundle
}

func (w *world) look() {
	w.t.Helper()
	if err := w.keeper().Look(context.Background()); err != nil {
		w.t.Fatal(err)
	}
}

func TestTheFirstLookMakesTheAPIServerTrusted(t *testing.T) {
	w := newWorld(t, apiService())
	w.look()
	secret := w.secret()
	if secret.Type != corev1.SecretTypeTLS || len(secret.Data["ca.crt"]) == 0 {
		t.Errorf("Secret of type %s with %d keys", secret.Type, len(secret.Data))
	}
	verify(t, w.caBundle(), secret.Data["tls.crt"], w.now)
	service, err := w.dynamic.Resource(apiServices).Get(context.Background(), naming.APIServiceName, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if group, _, _ := unstructured.NestedString(service.Object, "spec", "group"); group != "valkey.io" {
		t.Error("the rest of the APIService was touched")
	}
	writes := w.writes
	for range 5 {
		w.look()
	}
	if w.writes != writes {
		t.Errorf("%d writes while nothing changes", w.writes-writes)
	}
}

func TestABundleThatSomebodyRemovedIsPutBack(t *testing.T) {
	w := newWorld(t, apiService())
	w.look()
	if _, err := w.dynamic.Resource(apiServices).Update(context.Background(), apiService(), metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	w.look()
	verify(t, w.caBundle(), w.secret().Data["tls.crt"], w.now)
}

func TestTheCertificateIsMadeBeforeTheAPIServiceExists(t *testing.T) {
	w := newWorld(t)
	if err := w.keeper().Look(context.Background()); err == nil {
		t.Error("no error: nobody would learn that the APIService is missing")
	}
	if len(w.secret().Data["tls.key"]) == 0 {
		t.Error("the API server could not start")
	}
}

func TestARenewalThatIsAskedFor(t *testing.T) {
	w := newWorld(t, apiService())
	w.look()
	first := w.secret()
	first.Annotations[AnnotationRotate] = "now"
	if _, err := w.kube.CoreV1().Secrets("valkey-system").Update(context.Background(), first, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	w.look()
	prepared := w.secret()
	if string(prepared.Data["tls.crt"]) != string(first.Data["tls.crt"]) || len(prepared.Data["next.crt"]) == 0 {
		t.Fatal("the new certificate is in use before its CA is trusted")
	}
	verify(t, w.caBundle(), prepared.Data["next.crt"], w.now)
	if _, asked := prepared.Annotations[AnnotationRotate]; asked {
		t.Error("it would be renewed again and again")
	}
	w.now = w.now.Add(2 * time.Minute)
	w.look()
	promoted := w.secret()
	if string(promoted.Data["tls.crt"]) != string(prepared.Data["next.crt"]) || len(promoted.Data["next.key"]) != 0 {
		t.Fatal("the new certificate is not in use")
	}
	verify(t, w.caBundle(), first.Data["tls.crt"], w.now)
	w.now = w.now.Add(time.Hour)
	w.look()
	if n := len(authorities(w.caBundle())); n != 1 {
		t.Errorf("%d authorities are trusted at the end", n)
	}
	verify(t, w.caBundle(), w.secret().Data["tls.crt"], w.now)
}

func TestSeveralKeepersAgree(t *testing.T) {
	w := newWorld(t, apiService())
	var all sync.WaitGroup
	for range 8 {
		keeper := w.keeper()
		all.Go(func() {
			for range 5 {
				_ = keeper.Look(context.Background()) // all but one lose the race, and look again
			}
		})
	}
	all.Wait()
	w.look()
	secret := w.secret()
	if string(w.caBundle()) != string(secret.Data["ca.crt"]) {
		t.Error("what is trusted is not what is stored")
	}
	verify(t, w.caBundle(), secret.Data["tls.crt"], w.now)
	if n := len(authorities(secret.Data["ca.crt"])); n != 1 {
		t.Errorf("%d certificates were issued", n)
	}
}
