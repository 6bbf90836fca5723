// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build integration

package aggregated

import (
	"context"
	"fmt"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/valkeykube/valkeykube/pkg/apis/valkey/v1alpha1"
	"github.com/valkeykube/valkeykube/pkg/apiserver/embeddedetcd"
)

func startEtcd(t *testing.T, directory string) *embeddedetcd.Server {
	t.Helper()
	etcd, err := embeddedetcd.Start(t.Context(), embeddedetcd.Options{DataDir: directory})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(etcd.Close)
	return etcd
}

// What owns pods in the cluster is stored here: a storage that is away must never look like one from which everything was deleted.
func TestStorageThatIsAwayIsNotEmpty(t *testing.T) {
	c := startCluster(t)
	directory := t.TempDir()
	etcd := startEtcd(t, directory)
	c.serve(t, "", etcd.Endpoint())
	c.awaitAPI(t)
	api := valkeyClient(t, c.admin).ValkeyV1alpha1()
	if _, err := api.Valkeys("default").Create(t.Context(), &v1alpha1.Valkey{ObjectMeta: metav1.ObjectMeta{Name: "kept"}}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	look := func(ctx context.Context) (get, list error) {
		// One that was asked before the loss was noticed may wait for a minute.
		ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
		defer cancel()
		get = api.RESTClient().Get().Namespace("default").Resource("valkeys").Name("kept").MaxRetries(0).Do(ctx).Error()
		var found v1alpha1.ValkeyList
		list = api.RESTClient().Get().Namespace("default").Resource("valkeys").MaxRetries(0).Do(ctx).Into(&found)
		if list == nil && len(found.Items) != 1 {
			t.Fatalf("the list holds %d objects", len(found.Items))
		}
		if apierrors.IsNotFound(get) {
			t.Fatalf("the object is said not to exist: %v", get)
		}
		return get, list
	}

	etcd.Close()
	await(t, "503 while the storage is away", func(ctx context.Context) error {
		if get, list := look(ctx); !apierrors.IsServiceUnavailable(get) || !apierrors.IsServiceUnavailable(list) {
			return fmt.Errorf("get: %w, list: %w", get, list)
		}
		return nil
	})

	startEtcd(t, directory)
	await(t, "the object when the storage is back", func(ctx context.Context) error {
		if get, list := look(ctx); get != nil || list != nil {
			return fmt.Errorf("get: %w, list: %w", get, list)
		}
		return nil
	})
}
