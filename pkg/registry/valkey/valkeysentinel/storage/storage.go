// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package storage

import (
	"fmt"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/registry/generic"
	"k8s.io/utils/clock"

	api "github.com/valkeykube/valkeykube/pkg/apis/valkey"
	"github.com/valkeykube/valkeykube/pkg/registry/valkey/resource"
	"github.com/valkeykube/valkeykube/pkg/registry/valkey/valkeysentinel"
)

// Storage is the endpoints of valkeysentinels that are backed by etcd.
type Storage struct {
	ValkeySentinel *resource.REST
	Status         *resource.StatusREST
	Scale          *resource.ScaleREST
}

// NewStorage makes the endpoints. The scheme must know the group.
func NewStorage(scheme *runtime.Scheme, options generic.RESTOptionsGetter, others valkeysentinel.Others) (Storage, error) {
	main, status, err := resource.NewREST(scheme, resource.Definition[*api.ValkeySentinel, api.ValkeySentinelSpec, api.ValkeySentinelStatus]{
		Singular:  "valkeysentinel",
		Plural:    "valkeysentinels",
		ShortName: "vks",
		New:       func() runtime.Object { return &api.ValkeySentinel{} },
		NewList:   func() runtime.Object { return &api.ValkeySentinelList{} },
		Kind:      valkeysentinel.NewKind(others),
		Table:     valkeysentinel.NewTable(clock.RealClock{}),
	}, options)
	if err != nil {
		return Storage{}, err
	}
	return Storage{ValkeySentinel: main, Status: status, Scale: resource.NewScaleREST(main.Store, scalable)}, nil
}

func scalable(stored runtime.Object) (resource.Scalable, error) {
	object, ok := stored.(*api.ValkeySentinel)
	if !ok {
		return resource.Scalable{}, fmt.Errorf("not a ValkeySentinel: %T", stored)
	}
	return resource.Scalable{
		Object:   object,
		Wanted:   &object.Spec.Replicas,
		Observed: object.Status.Replicas,
		Selector: object.Status.Selector,
	}, nil
}
