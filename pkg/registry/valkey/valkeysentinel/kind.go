// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package valkeysentinel

import (
	"context"

	"k8s.io/apimachinery/pkg/fields"

	api "github.com/valkeykube/valkeykube/pkg/apis/valkey"
	"github.com/valkeykube/valkeykube/pkg/apis/valkey/v1alpha1"
	"github.com/valkeykube/valkeykube/pkg/naming"
	"github.com/valkeykube/valkeykube/pkg/registry/valkey/resource"
)

// Kind is what the registry knows of ValkeySentinels.
type Kind = resource.Kind[*api.ValkeySentinel, api.ValkeySentinelSpec, api.ValkeySentinelStatus]

// Others reads the objects that a ValkeySentinel shares the context's namespace with.
type Others interface {
	CachedValkeys(ctx context.Context) ([]v1alpha1.Valkey, error)
	CachedSentinels(ctx context.Context) ([]*v1alpha1.ValkeySentinel, error)
	ValkeyWithService(ctx context.Context, service, self string) (string, error)
}

// NewKind says how ValkeySentinels are written.
func NewKind(others Others) Kind {
	return Kind{
		LongestName: naming.MaxValkeySentinelName,
		Parts: func(s *api.ValkeySentinel) (*api.ValkeySentinelSpec, *api.ValkeySentinelStatus) {
			return &s.Spec, &s.Status
		},
		Fields: func(s *api.ValkeySentinel) fields.Set {
			return fields.Set{"status.state": string(s.Status.State)}
		},
		Warnings:   func(s *api.ValkeySentinel) []string { return v1alpha1.ValkeySentinelWarnings(versioned(s)) },
		Conflicts:  childNames{others}.errors,
		Neighbours: watched{others}.warnings,
	}
}

// versioned is a view of the object in the served version: it shares the object's memory and must not be changed.
func versioned(object *api.ValkeySentinel) *v1alpha1.ValkeySentinel {
	var view v1alpha1.ValkeySentinel
	// The layouts are the same, so there is nothing that could fail.
	_ = v1alpha1.Convert_valkey_ValkeySentinel_To_v1alpha1_ValkeySentinel(object, &view, nil)
	return &view
}
