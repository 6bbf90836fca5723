// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package live

import (
	"k8s.io/utils/clock"

	"github.com/valkeykube/valkeykube/pkg/discovery"
	"github.com/valkeykube/valkeykube/pkg/inspect"
	"github.com/valkeykube/valkeykube/pkg/registry/valkey/stored"
)

// Dependencies are what every live subresource asks. All are required.
type Dependencies struct {
	// Objects are the group's, as stored.
	Objects stored.Reader
	// Processes finds those that belong to an object.
	Processes discovery.Resolver
	// Clients talks to them.
	Clients inspect.Clients
	Clock   clock.PassiveClock
}
