// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package clientgo

import (
	"context"
	"fmt"

	"k8s.io/client-go/tools/cache"

	"github.com/valkeykube/valkeykube/pkg/apis/valkey/v1alpha1"
	"github.com/valkeykube/valkeykube/pkg/generated/clientset/versioned"
	"github.com/valkeykube/valkeykube/pkg/generated/informers/externalversions"
	listers "github.com/valkeykube/valkeykube/pkg/generated/listers/valkey/v1alpha1"
)

// Primaries calls changed with every Valkey whose primary is another one than before, until ctx ends, and returns a lister
// over what the informer knows once that is everything. changed runs on one goroutine. When the API server goes away and
// comes back, the informer goes on by itself; what happened in between it tells as one change.
func Primaries(ctx context.Context, client versioned.Interface, namespace string, changed func(*v1alpha1.Valkey)) (listers.ValkeyLister, error) {
	factory := externalversions.NewSharedInformerFactoryWithOptions(client, 0, externalversions.WithNamespace(namespace))
	valkeys := factory.Valkey().V1alpha1().Valkeys()
	registration, err := valkeys.Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc: func(object any) {
			if valkey := object.(*v1alpha1.Valkey); valkey.Status.Primary != "" {
				changed(valkey)
			}
		},
		UpdateFunc: func(before, after any) {
			if valkey := after.(*v1alpha1.Valkey); valkey.Status.Primary != before.(*v1alpha1.Valkey).Status.Primary {
				changed(valkey)
			}
		},
	})
	if err != nil {
		return nil, fmt.Errorf("watch Valkeys: %w", err)
	}
	factory.StartWithContext(ctx)
	if !cache.WaitForCacheSync(ctx.Done(), registration.HasSynced) {
		return nil, fmt.Errorf("watch Valkeys: %w", context.Cause(ctx))
	}
	return valkeys.Lister(), nil
}
