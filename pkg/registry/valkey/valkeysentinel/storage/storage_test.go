// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package storage

import (
	"context"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	genericregistrytest "k8s.io/apiserver/pkg/registry/generic/testing"
	"k8s.io/apiserver/pkg/registry/rest"

	api "github.com/valkeykube/valkeykube/pkg/apis/valkey"
	"github.com/valkeykube/valkeykube/pkg/apis/valkey/v1alpha1"
	"github.com/valkeykube/valkeykube/pkg/naming"
	"github.com/valkeykube/valkeykube/pkg/registry/valkey/registrytest"
)

// alone is a world without other objects.
type alone struct{}

func (alone) CachedValkeys(context.Context) ([]v1alpha1.Valkey, error)            { return nil, nil }
func (alone) CachedSentinels(context.Context) ([]*v1alpha1.ValkeySentinel, error) { return nil, nil }

func (alone) ValkeyWithService(context.Context, string, string) (string, error) { return "", nil }

func newStorage(t *testing.T) Storage {
	t.Helper()
	scheme := registrytest.Scheme()
	storage, err := NewStorage(scheme, registrytest.Options(t, scheme, "valkeysentinels"), alone{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(storage.ValkeySentinel.Destroy)
	return storage
}

func valid() *api.ValkeySentinel {
	object := &api.ValkeySentinel{ObjectMeta: metav1.ObjectMeta{Name: "one"}}

	return registrytest.Defaulted(object)
}

func TestCreate(t *testing.T) {
	long, dotted, spaced := valid(), valid(), valid()
	long.Name = strings.Repeat("n", naming.MaxValkeySentinelName+1)
	dotted.Name = "a.b"
	spaced.Spec.Image = "a b"
	created := valid()
	created.ObjectMeta = metav1.ObjectMeta{}
	genericregistrytest.New(t, newStorage(t).ValkeySentinel.Store).TestCreate(created, long, dotted, spaced)
}

func TestUpdate(t *testing.T) {
	genericregistrytest.New(t, newStorage(t).ValkeySentinel.Store).TestUpdate(valid(),
		func(object runtime.Object) runtime.Object {
			object.(*api.ValkeySentinel).Spec.Replicas = 5
			return object
		},
		func(object runtime.Object) runtime.Object {
			object.(*api.ValkeySentinel).Spec.Replicas = 2
			return object
		})
}

func TestDelete(t *testing.T) {
	genericregistrytest.New(t, newStorage(t).ValkeySentinel.Store).TestDelete(valid())
}

func TestGet(t *testing.T) {
	genericregistrytest.New(t, newStorage(t).ValkeySentinel.Store).TestGet(valid())
}
func TestList(t *testing.T) {
	genericregistrytest.New(t, newStorage(t).ValkeySentinel.Store).TestList(valid())
}

func TestWatch(t *testing.T) {
	genericregistrytest.New(t, newStorage(t).ValkeySentinel.Store).TestWatch(valid(), nil, nil,
		[]fields.Set{{"metadata.name": "one"}, {"status.state": ""}},
		[]fields.Set{{"status.state": "Ready"}})
}

func TestStatusAndSpecAreWrittenApart(t *testing.T) {
	storage := newStorage(t)
	object := valid()
	object.Status.State = api.StateReady
	stored, err := storage.ValkeySentinel.Create(registrytest.Context("valkeysentinels", ""), object, rest.ValidateAllObjectFunc, &metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	created := stored.(*api.ValkeySentinel)
	if created.Generation != 1 || created.Status.ObservedGeneration != 0 {
		t.Errorf("created %+v", created)
	}
	written := created.DeepCopy()
	written.Spec.Image = "another"
	written.Annotations = map[string]string{"a": "b"}
	written.Status.ObservedGeneration = 1
	stored, _, err = storage.Status.Update(registrytest.Context("valkeysentinels", "status"), "one", rest.DefaultUpdatedObjectInfo(written), rest.ValidateAllObjectFunc, rest.ValidateAllObjectUpdateFunc, false, &metav1.UpdateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	got := stored.(*api.ValkeySentinel)
	if got.Status.ObservedGeneration != 1 || got.Spec.Image != created.Spec.Image || got.Annotations != nil || got.Generation != 1 {
		t.Errorf("through status: %+v", got)
	}
	written = got.DeepCopy()
	written.Spec.Image = "another"
	written.Status.ObservedGeneration = 9
	stored, _, err = storage.ValkeySentinel.Update(registrytest.Context("valkeysentinels", ""), "one", rest.DefaultUpdatedObjectInfo(written), rest.ValidateAllObjectFunc, rest.ValidateAllObjectUpdateFunc, false, &metav1.UpdateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	got = stored.(*api.ValkeySentinel)
	if got.Status.ObservedGeneration != 1 || got.Spec.Image != "another" || got.Generation != 2 {
		t.Errorf("through the main endpoint: %+v", got)
	}
}
