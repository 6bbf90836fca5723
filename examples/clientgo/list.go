// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package clientgo

import (
	"context"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/pager"

	"github.com/valkeykube/valkeykube/pkg/apis/valkey/v1alpha1"
	"github.com/valkeykube/valkeykube/pkg/generated/clientset/versioned"
)

// InState are the names of the Valkeys of a namespace that are in a state. The server selects them, and sends them in pieces
// of at most size; should it have forgotten the state of the list before the last piece, the pager reads the whole list anew.
func InState(ctx context.Context, client versioned.Interface, namespace string, state v1alpha1.State, size int64) ([]string, error) {
	pieces := pager.New(func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
		return client.ValkeyV1alpha1().Valkeys(namespace).List(ctx, options)
	})
	pieces.PageSize = size
	list, _, err := pieces.List(ctx, metav1.ListOptions{FieldSelector: "status.state=" + string(state)})
	if err != nil {
		return nil, err
	}
	var names []string
	err = meta.EachListItem(list, func(object runtime.Object) error {
		names = append(names, object.(*v1alpha1.Valkey).Name)
		return nil
	})
	return names, err
}
