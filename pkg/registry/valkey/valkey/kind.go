// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package valkey

import (
	"context"

	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/util/validation/field"

	api "github.com/valkeykube/valkeykube/pkg/apis/valkey"
	"github.com/valkeykube/valkeykube/pkg/apis/valkey/v1alpha1"
	"github.com/valkeykube/valkeykube/pkg/naming"
	"github.com/valkeykube/valkeykube/pkg/registry/valkey/resource"
	"github.com/valkeykube/valkeykube/pkg/registry/valkey/stored"
)

// Kind is what the registry knows of Valkeys.
type Kind = resource.Kind[*api.Valkey, api.ValkeySpec, api.ValkeyStatus]

// Others reads the objects that a Valkey may be in the way of, in the context's namespace.
type Others interface {
	HoldersOf(ctx context.Context, key string, upToDate bool) ([]string, error)
	CachedSentinels(ctx context.Context) ([]*v1alpha1.ValkeySentinel, error)
	ValkeyWithService(ctx context.Context, service, self string) (string, error)
	SentinelWithService(ctx context.Context, service string) (string, error)
}

// NewKind says how Valkeys are written.
func NewKind(others Others, monitors *MonitorNames) Kind {
	return Kind{
		LongestName: naming.MaxValkeyName,
		Parts:       func(v *api.Valkey) (*api.ValkeySpec, *api.ValkeyStatus) { return &v.Spec, &v.Status },
		Fields: func(v *api.Valkey) fields.Set {
			return fields.Set{
				"status.state":       string(v.Status.State),
				"status.primary":     v.Status.Primary,
				"spec.failover.mode": string(v.Spec.Failover.Mode),
				stored.MonitorField:  monitorKey(v),
			}
		},
		Warnings: func(v *api.Valkey) []string { return v1alpha1.ValkeyWarnings(versioned(v)) },
		Conflicts: func(ctx context.Context, object, old *api.Valkey) field.ErrorList {
			return append(childNames{others}.errors(ctx, object, old), uniqueMonitor{others, monitors}.errors(ctx, object, old)...)
		},
		Neighbours: watchers{others}.warnings,
	}
}

// versioned is a view of the object in the served version: it shares the object's memory and must not be changed.
func versioned(object *api.Valkey) *v1alpha1.Valkey {
	var view v1alpha1.Valkey
	// The layouts are the same, so there is nothing that could fail.
	_ = v1alpha1.Convert_valkey_Valkey_To_v1alpha1_Valkey(object, &view, nil)
	return &view
}

// monitorKey is the name under which the Sentinels monitor a Valkey, within its namespace. Empty: they do not.
func monitorKey(object *api.Valkey) string {
	failover := &object.Spec.Failover
	switch {
	case failover.Mode != api.FailoverModeSentinel:
		return ""
	case failover.Sentinel != nil && failover.Sentinel.MonitorName != "":
		return stored.MonitorKey(object.Namespace, failover.Sentinel.MonitorName)
	}
	return stored.MonitorKey(object.Namespace, object.Name)
}
