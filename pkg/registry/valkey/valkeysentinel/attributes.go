// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package valkeysentinel

import (
	"fmt"

	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/registry/generic"

	api "github.com/valkeykube/valkeykube/pkg/apis/valkey"
)

// Attributes are the labels and fields of an object that selectors see.
func Attributes(stored runtime.Object) (labels.Set, fields.Set, error) {
	object, ok := stored.(*api.ValkeySentinel)
	if !ok {
		return nil, nil, fmt.Errorf("not a ValkeySentinel: %T", stored)
	}
	selectable := fields.Set{
		"status.state": string(object.Status.State),
	}
	return object.Labels, generic.AddObjectMetaFieldsSet(selectable, &object.ObjectMeta, true), nil
}
