// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package stored

import (
	"context"

	metainternalversion "k8s.io/apimachinery/pkg/apis/meta/internalversion"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"

	api "github.com/valkeykube/valkeykube/pkg/apis/valkey"
	"github.com/valkeykube/valkeykube/pkg/apis/valkey/v1alpha1"
)

// The reads of this file serve writes: what else is there that the object which is being written would be in the way of. They
// are answered from the server's cache, which knows all that was written through this server, and what was written through
// others some milliseconds later.

// MonitorField is the field of a Valkey by which the server finds who holds a monitor name: its value is MonitorKey. It is not
// offered to clients.
const MonitorField = "monitor"

// MonitorKey is a monitor name within a namespace.
func MonitorKey(namespace, monitor string) string { return namespace + "/" + monitor }

// HoldersOf are the names of the Valkeys of the context's namespace, being deleted or not, that the Sentinels monitor under the
// name of the key. Up to date, etcd is asked how late it is.
func (r Reader) HoldersOf(ctx context.Context, key string, upToDate bool) ([]string, error) {
	options := &metainternalversion.ListOptions{}
	if !upToDate {
		options = cached(r.ValkeyStore)
	}
	options.FieldSelector = fields.OneTermEqualSelector(MonitorField, key)
	list, err := r.ValkeyStore.List(ctx, options)
	if err != nil {
		return nil, err
	}
	var names []string
	for i := range list.(*api.ValkeyList).Items {
		names = append(names, list.(*api.ValkeyList).Items[i].Name)
	}
	return names, nil
}

// CachedValkeys are the Valkeys of the context's namespace.
func (r Reader) CachedValkeys(ctx context.Context) ([]v1alpha1.Valkey, error) {
	return r.valkeys(ctx, cached(r.ValkeyStore))
}

// CachedSentinels are the ValkeySentinels of the context's namespace.
func (r Reader) CachedSentinels(ctx context.Context) ([]*v1alpha1.ValkeySentinel, error) {
	return r.sentinels(ctx, cached(r.SentinelStore))
}

func cached(store Store) *metainternalversion.ListOptions {
	return &metainternalversion.ListOptions{ResourceVersion: store.Written(), ResourceVersionMatch: metav1.ResourceVersionMatchNotOlderThan}
}
