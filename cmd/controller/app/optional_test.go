// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"context"
	"errors"
	"testing"
	"time"

	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	toolscache "k8s.io/client-go/tools/cache"
)

func refusing(err error) toolscache.ListerWatcher {
	return &toolscache.ListWatch{
		ListWithContextFunc:  func(context.Context, metav1.ListOptions) (runtime.Object, error) { return nil, err },
		WatchFuncWithContext: func(context.Context, metav1.ListOptions) (watch.Interface, error) { return nil, err },
	}
}

func synced(t *testing.T, err error, example runtime.Object, patience time.Duration) bool {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	informer := newInformer(refusing(err), example, 0, toolscache.Indexers{})
	go informer.RunWithContext(ctx)
	return toolscache.WaitForCacheSync(ctx.Done(), informer.HasSynced)
}

func TestAMissingRightOnWhatCanBeDoneWithoutKeepsNoControllerFromStarting(t *testing.T) {
	for resource, example := range map[string]runtime.Object{
		"poddisruptionbudgets": &policyv1.PodDisruptionBudget{}, "networkpolicies": &networkingv1.NetworkPolicy{},
	} {
		forbidden := apierrors.NewForbidden(schema.GroupResource{Resource: resource}, "", errors.New("no"))
		if !synced(t, forbidden, example, 10*time.Second) {
			t.Errorf("the cache of %s waits for a right that nobody grants", resource)
		}
	}
}

func TestAnAPIThatIsAwayIsNoEmptyList(t *testing.T) {
	if synced(t, apierrors.NewServiceUnavailable("away"), &policyv1.PodDisruptionBudget{}, 2*time.Second) {
		t.Error("an outage was taken for an empty list")
	}
}
