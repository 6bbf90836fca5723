// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package valkeysentinel

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apiserver/pkg/warning"
	"k8s.io/klog/v2"

	api "github.com/valkeykube/valkeykube/pkg/apis/valkey"
	"github.com/valkeykube/valkeykube/pkg/naming"
)

// childNames refuses a ValkeySentinel whose Service a Valkey has: that of "w" is called like that of the Valkey "sentinel-w".
type childNames struct{ others Others }

func (c childNames) errors(ctx context.Context, object, old *api.ValkeySentinel) field.ErrorList {
	if old != nil {
		return nil
	}
	path, service := field.NewPath("metadata", "name"), naming.SentinelWorkload(object.Name)
	ctx, cancel := context.WithTimeout(ctx, lookTimeout)
	defer cancel()
	holder, err := c.others.ValkeyWithService(ctx, service, "")
	if err != nil {
		klog.FromContext(ctx).Error(err, "The names of children were not checked", "namespace", object.Namespace, "valkeySentinel", object.Name)
		warning.AddWarning(ctx, "", path.String()+": could not be compared with the names of other objects' Services")
		return nil
	}
	if holder == "" {
		return nil
	}
	return field.ErrorList{field.Invalid(path, object.Name, fmt.Sprintf("would have the Service %s, which Valkey %s has: choose another name", service, holder))}
}
