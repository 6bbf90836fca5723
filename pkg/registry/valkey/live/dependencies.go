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
	// Controller is who does what is left to do after a request.
	Controller Controller
	Clock      clock.PassiveClock
}

// Controller is the controller as far as others can see it.
type Controller interface {
	// IsAway tells whether it is known not to be there. Where that cannot be told it is not away.
	IsAway(ctx context.Context) bool
}

// Snapshots has data servers send their datasets; *valkeyclient.Client is one.
type Snapshots interface {
	Snapshot(ctx context.Context, target valkeyclient.Target) (io.ReadCloser, error)
}
