// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package storage

import (
	"fmt"
	"sync"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/registry/rest"

	api "github.com/valkeykube/valkeykube/pkg/apis/valkey"
	"github.com/valkeykube/valkeykube/pkg/registry/valkey/registrytest"
)

func named(name, monitor string) *api.Valkey {
	object := valid()
	object.Name = name
	object.Spec.Failover.Sentinel = &api.SentinelFailoverSpec{MonitorName: monitor}
	return object
}

func TestOfManyThatTakeOneMonitorNameOneGetsIt(t *testing.T) {
	const many = 20
	storage := newStorage(t)
	ctx := registrytest.Context("valkeys", "")
	// Half of them create a Valkey, half begin to monitor one that exists.
	for i := range many / 2 {
		object := valid()
		object.Name, object.Spec.Failover.Mode = fmt.Sprintf("old%d", i), api.FailoverModeNone
		create(t, storage, object)
	}
	errs := make([]error, many)
	var all sync.WaitGroup
	for i := range many {
		all.Go(func() {
			if i >= many/2 {
				_, errs[i] = storage.Valkey.Create(ctx, named(fmt.Sprintf("new%d", i), "m"), rest.ValidateAllObjectFunc, &metav1.CreateOptions{})
				return
			}
			object := named(fmt.Sprintf("old%d", i), "m")
			_, _, errs[i] = storage.Valkey.Update(ctx, object.Name, rest.DefaultUpdatedObjectInfo(object),
				rest.ValidateAllObjectFunc, rest.ValidateAllObjectUpdateFunc, false, &metav1.UpdateOptions{})
		})
	}
	all.Wait()
	won := 0
	for i, err := range errs {
		switch {
		case err == nil:
			won++
		case !apierrors.IsInvalid(err):
			t.Errorf("%d: %v", i, err)
		}
	}
	if won != 1 {
		t.Errorf("%d have the name", won)
	}
}

func TestAMonitorNameIsFreeWhenItsHolderIsGone(t *testing.T) {
	storage := newStorage(t)
	ctx := registrytest.Context("valkeys", "")
	create(t, storage, named("a", "m"))
	if _, err := storage.Valkey.Create(ctx, named("b", "m"), rest.ValidateAllObjectFunc, &metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}}); !apierrors.IsInvalid(err) {
		t.Errorf("dry run: %v", err)
	}
	if _, err := storage.Valkey.Create(ctx, named("m", ""), rest.ValidateAllObjectFunc, &metav1.CreateOptions{}); !apierrors.IsInvalid(err) {
		t.Errorf("by its own name: %v", err)
	}
	if _, err := storage.Valkey.Create(ctx, named("a", "m"), rest.ValidateAllObjectFunc, &metav1.CreateOptions{}); !apierrors.IsAlreadyExists(err) {
		t.Errorf("the same object again: %v", err)
	}
	if _, _, err := storage.Valkey.Delete(ctx, "a", rest.ValidateAllObjectFunc, &metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	create(t, storage, named("b", "m"))
}
