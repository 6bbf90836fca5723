// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package apiserver

import (
	"fmt"

	"k8s.io/apiserver/pkg/registry/generic"
	"k8s.io/apiserver/pkg/registry/rest"

	"github.com/valkeykube/valkeykube/pkg/registry/valkey/failover"
	"github.com/valkeykube/valkeykube/pkg/registry/valkey/live"
	"github.com/valkeykube/valkeykube/pkg/registry/valkey/monitors"
	"github.com/valkeykube/valkeykube/pkg/registry/valkey/replication"
	"github.com/valkeykube/valkeykube/pkg/registry/valkey/snapshot"
	"github.com/valkeykube/valkeykube/pkg/registry/valkey/stored"
	valkeystorage "github.com/valkeykube/valkeykube/pkg/registry/valkey/valkey/storage"
	nodestorage "github.com/valkeykube/valkeykube/pkg/registry/valkey/valkeynode/storage"
	sentinelstorage "github.com/valkeykube/valkeykube/pkg/registry/valkey/valkeysentinel/storage"
)

// newRoutes is the one table of what is served, by path below a namespace.
func newRoutes(options generic.RESTOptionsGetter, lives live.Dependencies) (map[string]rest.Storage, error) {
	// Filled below: each kind is written with a look at the others.
	objects := &stored.Reader{}
	valkeys, err := valkeystorage.NewStorage(Scheme, options, objects)
	if err != nil {
		return nil, fmt.Errorf("storage of valkeys: %w", err)
	}
	sentinels, err := sentinelstorage.NewStorage(Scheme, options, objects)
	if err != nil {
		return nil, fmt.Errorf("storage of valkeysentinels: %w", err)
	}
	nodes, err := nodestorage.NewStorage(Scheme, options)
	if err != nil {
		return nil, fmt.Errorf("storage of valkeynodes: %w", err)
	}
	*objects = stored.Reader{ValkeyStore: valkeys.Valkey, NodeStore: nodes.ValkeyNode, SentinelStore: sentinels.ValkeySentinel}
	lives.Objects = *objects
	executor := &failover.Executor{Dependencies: lives, Scheme: Scheme, Status: valkeys.Status}
	monitored := monitors.NewSource(lives, valkeys.Valkey, sentinels.ValkeySentinel)
	return map[string]rest.Storage{
		"valkeys":             valkeys.Valkey,
		"valkeys/status":      valkeys.Status,
		"valkeys/scale":       valkeys.Scale,
		"valkeys/failover":    failover.NewValkeyREST(executor),
		"valkeys/replication": replication.NewREST(lives),
		"valkeys/proxy":       snapshot.NewREST(lives),

		"valkeysentinels":          sentinels.ValkeySentinel,
		"valkeysentinels/status":   sentinels.Status,
		"valkeysentinels/scale":    sentinels.Scale,
		"valkeysentinels/failover": failover.NewSentinelREST(executor),
		"valkeysentinels/monitors": monitors.NewREST(monitored),

		"valkeynodes":        nodes.ValkeyNode,
		"valkeynodes/status": nodes.Status,

		"monitors":         monitors.NewVirtualREST(monitored),
		"failoverrequests": failover.NewRequestREST(executor),
	}, nil
}
