// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package live

import (
	"context"
	"io"

	"k8s.io/utils/clock"

	"github.com/valkeykube/valkeykube/pkg/discovery"
	"github.com/valkeykube/valkeykube/pkg/inspect"
	"github.com/valkeykube/valkeykube/pkg/registry/valkey/stored"
	"github.com/valkeykube/valkeykube/pkg/valkeyclient"
)

// Dependencies are what every live subresource asks. All are required.
type Dependencies struct {
	// Objects are the group's, as stored.
	Objects stored.Reader
	// Processes finds those that belong to an object.
	Processes discovery.Resolver
	// Clients talks to them.
	Clients inspect.Clients
	// Snapshots has them send their datasets.
	Snapshots Snapshots
	Clock     clock.PassiveClock
}

// Snapshots has data servers send their datasets; *valkeyclient.Client is one.
type Snapshots interface {
	Snapshot(ctx context.Context, target valkeyclient.Target) (io.ReadCloser, error)
}
