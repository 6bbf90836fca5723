// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package valkeynode

import (
	"time"

	"k8s.io/apiserver/pkg/registry/rest"
	"k8s.io/utils/clock"

	api "github.com/valkeykube/valkeykube/pkg/apis/valkey"
	"github.com/valkeykube/valkeykube/pkg/registry/valkey/resource"
)

type column = resource.Column[*api.ValkeyNode]

// NewTable prints ValkeyNodes.
func NewTable(now clock.PassiveClock) rest.TableConvertor {
	return resource.Table[*api.ValkeyNode]{Clock: now, Columns: []column{
		{Name: "Ready", Description: "Whether the pod is ready and the server answers.", Type: "boolean", Cell: func(n *api.ValkeyNode, _ time.Time) any { return n.Status.Ready }},
		{Name: "Role", Description: "The role the server reports.", Cell: text(func(n *api.ValkeyNode) string { return string(n.Status.Role) })},
		{Name: "Replica-Of", Description: "Host and port of the primary it follows.", Cell: text(func(n *api.ValkeyNode) string { return n.Status.ReplicaOf })},
		{Name: "Pod", Description: "The node's pod.", Cell: text(func(n *api.ValkeyNode) string { return n.Status.PodName })},
		{Name: "IP", Description: "The pod's address.", Cell: text(func(n *api.ValkeyNode) string { return n.Status.PodIP })},
		resource.AgeColumn[*api.ValkeyNode](),
		{Name: "Valkey", Description: "The Valkey it belongs to.", Wide: true, Cell: text(func(n *api.ValkeyNode) string { return n.Spec.Valkey })},
		{Name: "Image", Description: "The server's image.", Wide: true, Cell: text(func(n *api.ValkeyNode) string { return n.Spec.Image })},
	}}
}

func text(of func(*api.ValkeyNode) string) func(*api.ValkeyNode, time.Time) any {
	return func(node *api.ValkeyNode, _ time.Time) any { return of(node) }
}
