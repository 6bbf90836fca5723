//go:build e2e

// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"slices"
	"sync"
	"testing"

	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"
	watchtools "k8s.io/client-go/tools/watch"

	"github.com/valkeykube/valkeykube/pkg/naming"
	"github.com/valkeykube/valkeykube/test/e2e/framework"
)

// readyEndpoints are the pods behind the write Service that may get traffic now.
func readyEndpoints(ctx context.Context, s *framework.Set) ([]string, error) {
	list, err := s.Env.Kube.DiscoveryV1().EndpointSlices(s.Namespace).List(ctx, metav1.ListOptions{
		LabelSelector: discoveryv1.LabelServiceName + "=" + naming.PrimaryService(s.Name),
	})
	if err != nil {
		return nil, err
	}
	var pods []string
	for i := range list.Items {
		pods = append(pods, readyPods(&list.Items[i])...)
	}
	return pods, nil
}

func readyPods(slice *discoveryv1.EndpointSlice) (pods []string) {
	for _, endpoint := range slice.Endpoints {
		if ready := endpoint.Conditions.Ready; (ready == nil || *ready) && endpoint.TargetRef != nil {
			pods = append(pods, endpoint.TargetRef.Name)
		}
	}
	return pods
}

// endpoints are whom the write Service has led to, with every change.
type endpoints struct {
	mu   sync.Mutex
	seen [][]string
}

// watchEndpoints follows the write Service until the test ends.
func watchEndpoints(t *testing.T, s *framework.Set) *endpoints {
	t.Helper()
	history := &endpoints{}
	of := s.Env.Kube.DiscoveryV1().EndpointSlices(s.Namespace)
	selector := metav1.ListOptions{LabelSelector: discoveryv1.LabelServiceName + "=" + naming.PrimaryService(s.Name)}
	list, err := of.List(t.Context(), selector)
	if err != nil || len(list.Items) != 1 {
		t.Fatalf("the write Service has %d slices, %v", len(list.Items), err)
	}
	history.add(readyPods(&list.Items[0]))
	changes, err := watchtools.NewRetryWatcherWithContext(t.Context(), list.ResourceVersion, &cache.ListWatch{
		WatchFuncWithContext: func(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
			o.LabelSelector = selector.LabelSelector
			return of.Watch(ctx, o)
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(changes.Stop)
	go func() {
		for change := range changes.ResultChan() {
			if slice, ok := change.Object.(*discoveryv1.EndpointSlice); ok {
				history.add(readyPods(slice))
			}
		}
	}()
	return history
}

func (e *endpoints) add(pods []string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.seen = append(e.seen, pods)
}

func (e *endpoints) last() []string {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.seen[len(e.seen)-1]
}

// check expects that there never were two, and that after the new primary the old one never was there again.
func (e *endpoints) check(t *testing.T, before, now string) {
	t.Helper()
	e.mu.Lock()
	defer e.mu.Unlock()
	arrived := false
	for _, pods := range e.seen {
		arrived = arrived || slices.Contains(pods, now)
		if len(pods) > 1 || arrived && slices.Contains(pods, before) {
			t.Errorf("the write Service led to %v, one after the other; the primary was %s and is %s", e.seen, before, now)
			return
		}
	}
	if !arrived {
		t.Errorf("the write Service led to %v, and never to %s", e.seen, now)
	}
}
