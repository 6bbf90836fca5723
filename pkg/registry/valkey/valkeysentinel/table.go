// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package valkeysentinel

import (
	"fmt"
	"time"

	"k8s.io/apiserver/pkg/registry/rest"
	"k8s.io/utils/clock"

	api "github.com/valkeykube/valkeykube/pkg/apis/valkey"
	"github.com/valkeykube/valkeykube/pkg/registry/valkey/resource"
)

type column = resource.Column[*api.ValkeySentinel]

// NewTable prints ValkeySentinels.
func NewTable(now clock.PassiveClock) rest.TableConvertor {
	return resource.Table[*api.ValkeySentinel]{Clock: now, Columns: []column{
		{Name: "State", Description: "Everything summed up in one word.", Cell: text(func(s *api.ValkeySentinel) string { return string(s.Status.State) })},
		{Name: "Reason", Description: "Why the state is what it is.", Cell: text(func(s *api.ValkeySentinel) string { return s.Status.Reason })},
		{Name: "Ready", Description: "Sentinels that are ready, of those that are wanted.", Cell: text(ready)},
		{Name: "Monitors", Description: "How many Valkeys it watches.", Type: "integer", Cell: monitors},
		{Name: "Quorum-OK", Description: "Monitors whose failover could be authorised now, of all.", Cell: text(quorumOK)},
		resource.AgeColumn[*api.ValkeySentinel](),
		{Name: "Image", Description: "The Sentinels' image.", Wide: true, Cell: text(func(s *api.ValkeySentinel) string { return s.Spec.Image })},
	}}
}

func text(of func(*api.ValkeySentinel) string) func(*api.ValkeySentinel, time.Time) any {
	return func(sentinel *api.ValkeySentinel, _ time.Time) any { return of(sentinel) }
}

func ready(sentinel *api.ValkeySentinel) string {
	return fmt.Sprintf("%d/%d", sentinel.Status.ReadyReplicas, sentinel.Spec.Replicas)
}

func monitors(sentinel *api.ValkeySentinel, _ time.Time) any {
	return int64(len(sentinel.Status.Monitors))
}

func quorumOK(sentinel *api.ValkeySentinel) string {
	ok := 0
	for i := range sentinel.Status.Monitors {
		if sentinel.Status.Monitors[i].OK {
			ok++
		}
	}
	return fmt.Sprintf("%d/%d", ok, len(sentinel.Status.Monitors))
}
