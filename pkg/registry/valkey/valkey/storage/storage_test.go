// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package storage

import (
	"context"
	"strings"
	"testing"

	autoscalingv1 "k8s.io/api/autoscaling/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metainternal "k8s.io/apimachinery/pkg/apis/meta/internalversion"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	genericregistrytest "k8s.io/apiserver/pkg/registry/generic/testing"
	"k8s.io/apiserver/pkg/registry/rest"

	api "github.com/valkeykube/valkeykube/pkg/apis/valkey"
	"github.com/valkeykube/valkeykube/pkg/apis/valkey/v1alpha1"
	"github.com/valkeykube/valkeykube/pkg/naming"
	"github.com/valkeykube/valkeykube/pkg/registry/valkey/registrytest"
	"github.com/valkeykube/valkeykube/pkg/registry/valkey/stored"
)

// alone are Valkeys in a world without ValkeySentinels.
type alone struct{ *stored.Reader }

func (alone) CachedSentinels(context.Context) ([]*v1alpha1.ValkeySentinel, error) { return nil, nil }

func (alone) ValkeyWithService(context.Context, string, string) (string, error) { return "", nil }

func (alone) SentinelWithService(context.Context, string) (string, error) { return "", nil }

func newStorage(t *testing.T) Storage {
	t.Helper()
	scheme := registrytest.Scheme()
	objects := &stored.Reader{}
	storage, err := NewStorage(scheme, registrytest.Options(t, scheme, "valkeys"), alone{objects})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(storage.Valkey.Destroy)
	objects.ValkeyStore = storage.Valkey
	return storage
}

func valid() *api.Valkey {
	return registrytest.Defaulted(&api.Valkey{
		ObjectMeta: metav1.ObjectMeta{Name: "cache"},
		Spec:       api.ValkeySpec{Replicas: 2, Failover: api.FailoverSpec{Mode: api.FailoverModeSentinel}},
	})
}

func TestCreate(t *testing.T) {
	long, dotted, negative := valid(), valid(), valid()
	long.Name = strings.Repeat("n", naming.MaxValkeyName+1)
	dotted.Name = "a.b"
	negative.Spec.Replicas = -1
	created := valid()
	created.ObjectMeta = metav1.ObjectMeta{}
	genericregistrytest.New(t, newStorage(t).Valkey.Store).TestCreate(created, long, dotted, negative)
}

func TestUpdate(t *testing.T) {
	genericregistrytest.New(t, newStorage(t).Valkey.Store).TestUpdate(valid(),
		func(object runtime.Object) runtime.Object {
			object.(*api.Valkey).Spec.Replicas = 3
			return object
		},
		func(object runtime.Object) runtime.Object {
			object.(*api.Valkey).Spec.Replicas = -1
			return object
		},
		func(object runtime.Object) runtime.Object {
			object.(*api.Valkey).Spec.WorkloadType = api.WorkloadTypeDeployment
			return object
		})
}

func TestDelete(t *testing.T) {
	genericregistrytest.New(t, newStorage(t).Valkey.Store).TestDelete(valid())
}

func TestGet(t *testing.T)  { genericregistrytest.New(t, newStorage(t).Valkey.Store).TestGet(valid()) }
func TestList(t *testing.T) { genericregistrytest.New(t, newStorage(t).Valkey.Store).TestList(valid()) }

func TestWatch(t *testing.T) {
	genericregistrytest.New(t, newStorage(t).Valkey.Store).TestWatch(valid(),
		nil, nil,
		[]fields.Set{{"metadata.name": "cache"}, {"spec.failover.mode": "Sentinel"}},
		[]fields.Set{{"metadata.name": "other"}, {"spec.failover.mode": "None"}, {"status.state": "Ready"}})
}

func TestNamesThatLeaveNoRoomForChildren(t *testing.T) {
	storage := newStorage(t)
	object := valid()
	object.Name = strings.Repeat("n", naming.MaxValkeyName+1)
	_, err := storage.Valkey.Create(registrytest.Context("valkeys", ""), object, rest.ValidateAllObjectFunc, &metav1.CreateOptions{})
	want := `Valkey.valkey.io "` + object.Name + `" is invalid: metadata.name: Invalid value: "` + object.Name +
		`": must be no more than 41 characters, so that the names of what is made for it are DNS labels; it has 42`
	if err == nil || err.Error() != want {
		t.Errorf("got  %v\nwant %s", err, want)
	}
	object.Name = object.Name[1:]
	if _, err := storage.Valkey.Create(registrytest.Context("valkeys", ""), object, rest.ValidateAllObjectFunc, &metav1.CreateOptions{}); err != nil {
		t.Errorf("the longest name: %v", err)
	}
}

func TestStatusAndSpecAreWrittenApart(t *testing.T) {
	storage := newStorage(t)
	ctx := registrytest.Context("valkeys", "")
	object := valid()
	object.Status.State = api.StateReady
	object.Generation = 7
	created := create(t, storage, object)
	if created.Status.State != "" || created.Generation != 1 {
		t.Errorf("created with state %q and generation %d", created.Status.State, created.Generation)
	}

	written := created.DeepCopy()
	written.Spec.Replicas = 5
	written.Labels = map[string]string{"a": "b"}
	written.Status.State = api.StateDegraded
	statusCtx := registrytest.Context("valkeys", "status")
	got := update(statusCtx, t, storage.Status, written)
	if got.Status.State != api.StateDegraded || got.Spec.Replicas != 2 || got.Labels != nil || got.Generation != 1 {
		t.Errorf("through status: %+v", got)
	}

	written = got.DeepCopy()
	written.Spec.Replicas = 5
	written.Labels = map[string]string{"a": "b"}
	written.Status.State = api.StateFailed
	got = update(ctx, t, storage.Valkey, written)
	if got.Status.State != api.StateDegraded || got.Spec.Replicas != 5 || got.Labels["a"] != "b" || got.Generation != 2 {
		t.Errorf("through the main endpoint: %+v", got)
	}

	written = got.DeepCopy()
	written.Labels = nil
	if got = update(ctx, t, storage.Valkey, written); got.Generation != 2 {
		t.Errorf("generation %d after a change of labels", got.Generation)
	}
}

func TestFieldSelectors(t *testing.T) {
	storage := newStorage(t)
	create(t, storage, valid())
	other := valid()
	other.Name, other.Spec.Failover.Mode = "other", api.FailoverModeNone
	create(t, storage, other)
	for selector, want := range map[string]int{
		"spec.failover.mode=Sentinel": 1, "metadata.name=other": 1, "status.state=Ready": 0, "status.primary=": 2,
	} {
		parsed, err := fields.ParseSelector(selector)
		if err != nil {
			t.Fatal(err)
		}
		list, err := storage.Valkey.List(registrytest.Context("valkeys", ""), &metainternal.ListOptions{FieldSelector: parsed})
		if err != nil {
			t.Fatal(err)
		}
		if got := len(list.(*api.ValkeyList).Items); got != want {
			t.Errorf("%s finds %d, want %d", selector, got, want)
		}
	}
}

func TestDrawnNamesLeaveRoomForThoseOfTheChildren(t *testing.T) {
	storage := newStorage(t)
	for prefix, want := range map[string]string{
		"short-": "short-", strings.Repeat("n", 60): strings.Repeat("n", naming.MaxValkeyName-5),
	} {
		object := valid()
		object.Name, object.GenerateName = "", prefix
		if name := create(t, storage, object).Name; len(name) != len(want)+5 || !strings.HasPrefix(name, want) {
			t.Errorf("from %q: %q", prefix, name)
		}
	}
}

func TestScale(t *testing.T) {
	storage := newStorage(t)
	created := create(t, storage, valid())
	created.Status.Replicas, created.Status.Selector = 3, "a=b"
	update(registrytest.Context("valkeys", "status"), t, storage.Status, created)

	ctx := registrytest.Context("valkeys", "scale")
	got, err := storage.Scale.Get(ctx, "cache", &metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	scale := got.(*autoscalingv1.Scale)
	if scale.Spec.Replicas != 2 || scale.Status.Replicas != 2 || scale.Status.Selector != "a=b" {
		t.Errorf("got %+v: the primary must not count as a replica", scale)
	}
	table, err := storage.Scale.ConvertToTable(ctx, scale, nil)
	if err != nil {
		t.Fatal(err)
	}
	// As kubectl get deployment --subresource=scale prints it.
	if cells := table.Rows[0].Cells; len(table.ColumnDefinitions) != 4 || table.ColumnDefinitions[1].Name != "Desired" || cells[0] != "cache" || cells[1] != int64(2) || cells[2] != int64(2) {
		t.Errorf("the table is %+v", table)
	}

	scale.Spec.Replicas = 4
	if _, _, err := storage.Scale.Update(ctx, "cache", rest.DefaultUpdatedObjectInfo(scale), rest.ValidateAllObjectFunc, rest.ValidateAllObjectUpdateFunc, false, &metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	stored, err := storage.Valkey.Get(ctx, "cache", &metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if valkey := stored.(*api.Valkey); valkey.Spec.Replicas != 4 || valkey.Generation != 2 {
		t.Errorf("stored replicas %d, generation %d", valkey.Spec.Replicas, valkey.Generation)
	}

	scale.ResourceVersion, scale.UID = "", "another"
	if _, _, err := storage.Scale.Update(ctx, "cache", rest.DefaultUpdatedObjectInfo(scale), rest.ValidateAllObjectFunc, rest.ValidateAllObjectUpdateFunc, false, &metav1.UpdateOptions{}); !apierrors.IsConflict(err) {
		t.Errorf("another UID: got %v, want a conflict", err)
	}
	scale.UID, scale.Spec.Replicas = "", -1
	if _, _, err := storage.Scale.Update(ctx, "cache", rest.DefaultUpdatedObjectInfo(scale), rest.ValidateAllObjectFunc, rest.ValidateAllObjectUpdateFunc, false, &metav1.UpdateOptions{}); !apierrors.IsInvalid(err) {
		t.Errorf("negative: got %v, want invalid", err)
	}
	if _, err := storage.Scale.Get(ctx, "missing", &metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("missing: got %v, want not found", err)
	}
}

func create(t *testing.T, storage Storage, object *api.Valkey) *api.Valkey {
	t.Helper()
	created, err := storage.Valkey.Create(registrytest.Context("valkeys", ""), object, rest.ValidateAllObjectFunc, &metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return created.(*api.Valkey)
}

func update(ctx context.Context, t *testing.T, endpoint rest.Updater, object *api.Valkey) *api.Valkey {
	t.Helper()
	updated, _, err := endpoint.Update(ctx, object.Name, rest.DefaultUpdatedObjectInfo(object), rest.ValidateAllObjectFunc, rest.ValidateAllObjectUpdateFunc, false, &metav1.UpdateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return updated.(*api.Valkey)
}
