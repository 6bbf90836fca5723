// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package valkey

import (
	"fmt"
	"time"

	"k8s.io/apiserver/pkg/registry/rest"
	"k8s.io/utils/clock"

	api "github.com/valkeykube/valkeykube/pkg/apis/valkey"
	"github.com/valkeykube/valkeykube/pkg/registry/valkey/resource"
)

type column = resource.Column[*api.Valkey]

// NewTable prints Valkeys.
func NewTable(now clock.PassiveClock) rest.TableConvertor {
	return resource.Table[*api.Valkey]{Clock: now, Columns: []column{
		{Name: "State", Description: "Everything summed up in one word.", Cell: text(func(v *api.Valkey) string { return string(v.Status.State) })},
		{Name: "Reason", Description: "Why the state is what it is.", Cell: text(func(v *api.Valkey) string { return v.Status.Reason })},
		{Name: "Primary", Description: "The ValkeyNode that is primary.", Cell: text(func(v *api.Valkey) string { return v.Status.Primary })},
		{Name: "Ready", Description: "Nodes that are ready, of those that are wanted, the primary included.", Cell: text(ready)},
		{Name: "Synced", Description: "Replicas that follow the primary, of those that are wanted.", Cell: text(synced)},
		{Name: "Monitored-By", Description: "The ValkeySentinel that watches it.", Cell: text(monitoredBy)},
		resource.AgeColumn[*api.Valkey](),
		{Name: "Address", Description: "Host and port of the primary.", Wide: true, Cell: text(func(v *api.Valkey) string { return v.Status.PrimaryAddress })},
		{Name: "Image", Description: "The server's image.", Wide: true, Cell: text(func(v *api.Valkey) string { return v.Spec.Image })},
		{Name: "Quorum", Description: "Sentinels that must agree, of those that are usable.", Wide: true, Cell: text(quorum)},
		{Name: "Last-Failover", Description: "How long ago the primary changed, and why.", Wide: true, Cell: lastFailover},
	}}
}

func text(of func(*api.Valkey) string) func(*api.Valkey, time.Time) any {
	return func(valkey *api.Valkey, _ time.Time) any { return of(valkey) }
}

func ready(valkey *api.Valkey) string {
	return fmt.Sprintf("%d/%d", valkey.Status.ReadyReplicas, valkey.Spec.Replicas+1)
}

func synced(valkey *api.Valkey) string {
	return fmt.Sprintf("%d/%d", valkey.Status.SyncedReplicas, valkey.Spec.Replicas)
}

func monitoredBy(valkey *api.Valkey) string {
	if monitoring := valkey.Status.Monitoring; monitoring != nil {
		return monitoring.Sentinel
	}
	return ""
}

func quorum(valkey *api.Valkey) string {
	monitoring := valkey.Status.Monitoring
	if monitoring == nil || monitoring.Quorum == 0 {
		return ""
	}
	return fmt.Sprintf("%d/%d", monitoring.Quorum, monitoring.AvailableQuorum)
}

func lastFailover(valkey *api.Valkey, now time.Time) any {
	last := valkey.Status.LastFailover
	if last == nil {
		return ""
	}
	return fmt.Sprintf("%s (%s)", resource.Age(last.StartedAt, now), last.Cause)
}
