// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package live

import (
	"context"

	"github.com/valkeykube/valkeykube/pkg/apis/valkey/v1alpha1"
	"github.com/valkeykube/valkeykube/pkg/inspect"
	"github.com/valkeykube/valkeykube/pkg/selection"
)

var valkeys = v1alpha1.Resource("valkeys")

// Subject is whom to look at for a Valkey of the context's namespace: its nodes and, in mode Sentinel, the Sentinels that monitor it.
func (d Dependencies) Subject(ctx context.Context, valkey *v1alpha1.Valkey) (inspect.Subject, error) {
	var subject inspect.Subject
	nodes, err := d.Objects.Nodes(ctx, valkey.Name)
	if err != nil {
		return subject, err
	}
	members, err := d.Processes.Members(ctx, valkey, nodes)
	if err != nil {
		return subject, FromDiscovery(valkeys, valkey.Name, err)
	}
	for _, member := range members {
		subject.Members = append(subject.Members, inspect.Member(member))
	}
	if valkey.Spec.Failover.Mode != v1alpha1.FailoverModeSentinel {
		return subject, nil
	}
	subject.Monitor = v1alpha1.EffectiveMonitorName(valkey)
	sets, err := d.Objects.Sentinels(ctx)
	if err != nil {
		return subject, err
	}
	if monitor := selection.For(valkey, sets).Monitor; monitor != nil {
		subject.Sentinels, err = d.Processes.Sentinels(ctx, monitor)
	}
	return subject, FromDiscovery(valkeys, valkey.Name, err)
}
