// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package storeidentity

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"
)

func TestDecide(t *testing.T) {
	for name, c := range map[string]struct {
		seen Seen
		want verdict
	}{
		"a new installation": {Seen{}, birth},
		"nobody knows the store whose objects own what is there": {Seen{Child: "StatefulSet ns/valkey-a-0"}, refuse},
		"what is there was given up":                             {Seen{Child: "StatefulSet ns/valkey-a-0", Accepted: AcceptEmpty}, birth},
		"the store on record":                                    {Seen{Stored: "a", Recorded: "a"}, confirmed},
		"the record was deleted":                                 {Seen{Stored: "a"}, record},
		"an empty store in place of ours":                        {Seen{Recorded: "a"}, refuse},
		"another store in place of ours":                         {Seen{Stored: "b", Recorded: "a"}, refuse},
		"an accepted empty store":                                {Seen{Recorded: "a", Accepted: AcceptEmpty}, replace},
		"an accepted other store":                                {Seen{Stored: "b", Recorded: "a", Accepted: "b"}, record},
		"a third store when another was accepted":                {Seen{Stored: "c", Recorded: "a", Accepted: "b"}, refuse},
		"an empty store when another was accepted":               {Seen{Recorded: "a", Accepted: "b"}, refuse},
		"accepting an empty one is not accepting a foreign one":  {Seen{Stored: "b", Recorded: "a", Accepted: AcceptEmpty}, refuse},
	} {
		t.Run(name, func(t *testing.T) {
			got, why := decide(c.seen)
			if got != c.want {
				t.Errorf("got %d, want %d", got, c.want)
			}
			if (got == refuse) != strings.Contains(why, AnnotationAccept) {
				t.Errorf("a refusal, and only that, says the way out; got %q", why)
			}
		})
	}
}

// memory is a store whose content the test exchanges.
type memory struct {
	id  string
	err error
}

func (m *memory) Identity(context.Context) (string, error) { return m.id, m.err }
func (m *memory) Adopt(_ context.Context, id string) error {
	if m.id == "" {
		m.id = id
	}
	return m.err
}

var none = NewWorkloads(fake.NewClientset().AppsV1(), "", "valkey.io")

// The product was taken out with its store and its record, and put in again, while what it had made went on running.
func TestABirthBesideWhatAnotherStoreOwns(t *testing.T) {
	ctx := t.Context()
	kube := fake.NewClientset(
		&appsv1.StatefulSet{ObjectMeta: metav1.ObjectMeta{Name: "somebodys", Namespace: "ns", OwnerReferences: []metav1.OwnerReference{{APIVersion: "else.io/v1", Kind: "Thing", Name: "x"}}}},
		&appsv1.StatefulSet{ObjectMeta: metav1.ObjectMeta{Name: "valkey-a-0", Namespace: "ns", Labels: map[string]string{"ours": "yes"},
			OwnerReferences: []metav1.OwnerReference{{APIVersion: "valkey.io/v1alpha1", Kind: "ValkeyNode", Name: "a-0"}}}})
	maps, store := kube.CoreV1().ConfigMaps("valkey-system"), &memory{}
	g := New(store, NewConfigMap(maps), NewWorkloads(kube.AppsV1(), "ours=yes", "valkey.io"))
	for range 3 {
		g.observe(ctx)
	}
	if err := g.Check(nil); err == nil || store.id != "" || !strings.Contains(err.Error(), "ns/valkey-a-0 of ValkeyNode a-0") || !strings.Contains(err.Error(), ConfigMapName) {
		t.Fatalf("store %q, %v", store.id, err)
	}
	word := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: ConfigMapName, Annotations: map[string]string{AnnotationAccept: AcceptEmpty}}}
	if _, err := maps.Create(ctx, word, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		g.observe(ctx)
	}
	if err := g.Check(nil); err != nil || store.id == "" {
		t.Fatalf("after a person's word: store %q, %v", store.id, err)
	}
}

func TestGuardThroughALife(t *testing.T) {
	ctx := t.Context()
	maps := fake.NewClientset().CoreV1().ConfigMaps("valkey-system")
	store := &memory{}
	g := New(store, NewConfigMap(maps), none)
	if g.Check(nil) == nil {
		t.Fatal("open before the first look")
	}
	look := func() error { g.observe(ctx); return g.Check(nil) }
	_ = look() // birth
	if err := look(); err != nil || store.id == "" {
		t.Fatalf("after birth: %v, id %q", err, store.id)
	}
	first := store.id

	store.id = "" // the store is lost
	if err := look(); err == nil || !strings.Contains(err.Error(), "empty") {
		t.Fatalf("an empty store: %v", err)
	}
	if store.id != "" {
		t.Fatal("the empty store was given an identity without a person's word")
	}
	store.id, store.err = first, errors.New("no leader") // it has been closed, so nothing is tolerated
	if err := look(); err == nil {
		t.Fatal("open while the store does not answer")
	}
	store.err = nil
	if err := look(); err != nil {
		t.Fatalf("the store is back: %v", err)
	}

	store.err = errors.New("a member is lost")
	for range tolerated {
		if err := look(); err != nil {
			t.Fatalf("closed over what a lost member of etcd does: %v", err)
		}
	}
	if err := look(); err == nil {
		t.Fatal("open although the store cannot be read for long")
	}
	store.err = nil
	if err := look(); err != nil {
		t.Fatalf("the store is back again: %v", err)
	}
	store.err = errors.New("a member is lost")
	_ = look()
	store.id, store.err = "another", nil
	if err := look(); err == nil || !strings.Contains(err.Error(), "another") {
		t.Fatalf("another store after one that could not be read: %v", err)
	}
	store.id = first
	_ = look()
	ended, end := context.WithCancel(ctx)
	end()
	store.err = ended.Err()
	if g.observe(ended); g.Check(nil) != nil {
		t.Fatal("closed over the end of the server")
	}
	store.err = nil

	store.id = ""
	cm, err := maps.Get(ctx, ConfigMapName, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	cm.Annotations = map[string]string{AnnotationAccept: AcceptEmpty}
	if _, err := maps.Update(ctx, cm, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	_ = look()
	if err := look(); err != nil || store.id == "" || store.id == first {
		t.Fatalf("after a person accepted it: %v, id %q", err, store.id)
	}
	if _, accepted, _ := g.record.Read(ctx); accepted != "" {
		t.Error("the acceptance is used up once, and is still there")
	}
}

func TestFilterClosesResourcesAndLeavesDiscovery(t *testing.T) {
	g := New(&memory{}, NewConfigMap(fake.NewClientset().CoreV1().ConfigMaps("valkey-system")), none)
	handler := g.Filter(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusOK) }))
	for path, want := range map[string]int{
		"/apis":                               http.StatusOK,
		"/apis/valkey.io/v1alpha1":            http.StatusOK,
		"/readyz":                             http.StatusOK,
		"/openapi/v3/apis/valkey.io/v1alpha1": http.StatusOK,
		"/apis/valkey.io/v1alpha1/valkeys":    http.StatusServiceUnavailable,
		"/apis/valkey.io/v1alpha1/namespaces/a/valkeys/b": http.StatusServiceUnavailable,
	} {
		answer := httptest.NewRecorder()
		handler.ServeHTTP(answer, httptest.NewRequest(http.MethodGet, path, nil))
		if answer.Code != want {
			t.Errorf("%s: %d, want %d", path, answer.Code, want)
		}
		if want == http.StatusServiceUnavailable && answer.Header().Get("Retry-After") == "" {
			t.Errorf("%s: no Retry-After", path)
		}
	}
}
