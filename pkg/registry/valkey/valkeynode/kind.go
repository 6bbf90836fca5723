// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package valkeynode

import (
	"k8s.io/apimachinery/pkg/fields"

	api "github.com/valkeykube/valkeykube/pkg/apis/valkey"
	"github.com/valkeykube/valkeykube/pkg/apis/valkey/v1alpha1"
	"github.com/valkeykube/valkeykube/pkg/naming"
	"github.com/valkeykube/valkeykube/pkg/registry/valkey/resource"
)

// Kind is what the registry knows of ValkeyNodes.
type Kind = resource.Kind[*api.ValkeyNode, api.ValkeyNodeSpec, api.ValkeyNodeStatus]

// NewKind says how ValkeyNodes are written.
func NewKind() Kind {
	return Kind{
		LongestName: naming.MaxValkeyNodeName,
		Parts: func(n *api.ValkeyNode) (*api.ValkeyNodeSpec, *api.ValkeyNodeStatus) {
			return &n.Spec, &n.Status
		},
		Fields: func(n *api.ValkeyNode) fields.Set {
			return fields.Set{"status.role": string(n.Status.Role), "spec.valkey": n.Spec.Valkey}
		},
		Warnings: func(n *api.ValkeyNode) []string {
			var view v1alpha1.ValkeyNode
			// The layouts are the same, so there is nothing that could fail.
			_ = v1alpha1.Convert_valkey_ValkeyNode_To_v1alpha1_ValkeyNode(n, &view, nil)
			return v1alpha1.ValkeyNodeWarnings(&view)
		},
	}
}
