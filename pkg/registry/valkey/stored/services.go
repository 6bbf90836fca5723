// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package stored

import (
	"context"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"

	api "github.com/valkeykube/valkeykube/pkg/apis/valkey"
	"github.com/valkeykube/valkeykube/pkg/naming"
)

// ValkeyWithService is the Valkey of the context's namespace, other than self, that has a Service of this name; empty when there is
// none. It looks into the cache, and asks etcd only about one that is there.
func (r Reader) ValkeyWithService(ctx context.Context, service, self string) (string, error) {
	for _, holder := range naming.ServiceHolders(service) {
		if holder.Valkey == self {
			continue
		}
		holds, err := r.hasNodes(ctx, holder)
		if err != nil {
			return "", err
		}
		if holds {
			return holder.Valkey, nil
		}
	}
	return "", nil
}

func (r Reader) hasNodes(ctx context.Context, holder naming.ServiceHolder) (bool, error) {
	enough := func(valkey *api.Valkey) bool { return int(valkey.Spec.Replicas)+1 >= holder.Nodes }
	options := cached(r.ValkeyStore)
	options.FieldSelector = fields.OneTermEqualSelector(metav1.ObjectNameField, holder.Valkey)
	list, err := r.ValkeyStore.List(ctx, options)
	if err != nil {
		return false, err
	}
	if items := list.(*api.ValkeyList).Items; len(items) == 0 || !enough(&items[0]) {
		return false, nil
	}
	// The cache may not have seen yet that it is gone.
	object, err := r.ValkeyStore.Get(ctx, holder.Valkey, &metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	return enough(object.(*api.Valkey)), nil
}

// SentinelWithService is the ValkeySentinel of the context's namespace that has a Service of this name; empty when there is none.
func (r Reader) SentinelWithService(ctx context.Context, service string) (string, error) {
	name, can := naming.ServiceSentinel(service)
	if !can {
		return "", nil
	}
	options := cached(r.SentinelStore)
	options.FieldSelector = fields.OneTermEqualSelector(metav1.ObjectNameField, name)
	list, err := r.SentinelStore.List(ctx, options)
	if err != nil || len(list.(*api.ValkeySentinelList).Items) == 0 {
		return "", err
	}
	_, err = r.SentinelStore.Get(ctx, name, &metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return "", nil
	}
	return name, err
}
