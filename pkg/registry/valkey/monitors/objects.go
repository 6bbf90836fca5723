// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package monitors

import (
	"context"
	"fmt"

	metainternalversion "k8s.io/apimachinery/pkg/apis/meta/internalversion"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	genericapirequest "k8s.io/apiserver/pkg/endpoints/request"

	api "github.com/valkeykube/valkeykube/pkg/apis/valkey"
)

// Watcher watches the objects of one kind.
type Watcher interface {
	Watch(ctx context.Context, options *metainternalversion.ListOptions) (watch.Interface, error)
}

// Changes tells when which monitors there should be has changed: in which namespace. What is only reported of an object, as in every
// failover, is no such change.
func (s *Source) Changes(ctx context.Context, tell func(namespace string)) error {
	ctx, cancel := context.WithCancel(genericapirequest.WithNamespace(ctx, metav1.NamespaceAll))
	defer cancel()
	type event struct {
		watch.Event
		open bool
	}
	events := make(chan event)
	for _, objects := range s.objects {
		watcher, err := objects.Watch(ctx, &metainternalversion.ListOptions{})
		if err != nil {
			return err
		}
		defer watcher.Stop()
		go func() {
			for {
				received, open := <-watcher.ResultChan()
				select {
				case events <- event{received, open}:
				case <-ctx.Done():
					return
				}
				if !open {
					return
				}
			}
		}()
	}
	wanted := map[types.UID]string{}
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case received := <-events:
			if !received.open || received.Type == watch.Error {
				return fmt.Errorf("a watch of our own objects has ended: %s", received.Type)
			}
			namespace, uid, says := wish(received.Object)
			if received.Type == watch.Deleted {
				says = ""
			}
			if wanted[uid] == says {
				continue
			}
			if says == "" {
				delete(wanted, uid)
			} else {
				wanted[uid] = says
			}
			tell(namespace)
		}
	}
}

// wish is what in an object says which monitors there should be.
func wish(object runtime.Object) (namespace string, uid types.UID, says string) {
	switch object := object.(type) {
	case *api.Valkey:
		// Labels are what ValkeySentinels select by.
		return object.Namespace, object.UID, fmt.Sprint("valkey ", object.Generation, object.DeletionTimestamp, object.Labels)
	case *api.ValkeySentinel:
		return object.Namespace, object.UID, fmt.Sprint("set ", object.Generation, object.DeletionTimestamp, object.Labels, object.Status.Replicas)
	}
	return "", "", ""
}
