// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package storage

import (
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/registry/generic"
	"k8s.io/utils/clock"

	api "github.com/valkeykube/valkeykube/pkg/apis/valkey"
	"github.com/valkeykube/valkeykube/pkg/registry/valkey/resource"
	"github.com/valkeykube/valkeykube/pkg/registry/valkey/valkeynode"
)

// Storage is the endpoints of valkeynodes that are backed by etcd.
type Storage struct {
	ValkeyNode *resource.REST
	Status     *resource.StatusREST
}

// NewStorage makes the endpoints. The scheme must know the group.
func NewStorage(scheme *runtime.Scheme, options generic.RESTOptionsGetter) (Storage, error) {
	main, status, err := resource.NewREST(scheme, resource.Definition[*api.ValkeyNode, api.ValkeyNodeSpec, api.ValkeyNodeStatus]{
		Singular:  "valkeynode",
		Plural:    "valkeynodes",
		ShortName: "vkn",
		New:       func() runtime.Object { return &api.ValkeyNode{} },
		NewList:   func() runtime.Object { return &api.ValkeyNodeList{} },
		Kind:      valkeynode.NewKind(),
		Table:     valkeynode.NewTable(clock.RealClock{}),
	}, options)
	return Storage{ValkeyNode: main, Status: status}, err
}
