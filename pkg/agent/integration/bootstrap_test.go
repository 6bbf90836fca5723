// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"testing"
	"time"

	"github.com/valkeykube/valkeykube/pkg/agent/decision"
	"github.com/valkeykube/valkeykube/pkg/valkeyclient/valkeytest"
)

func TestBootstrap(t *testing.T) {
	valkeytest.Each(t, func(t *testing.T, binary valkeytest.Binary) {
		t.Parallel()
		s := newSet(t, options{mode: decision.ModeSentinel, replicas: 2, sentinels: 3, binary: binary})
		began := time.Now()
		s.startAll(s.nodes)
		s.awaitWhole(s.nodes[0], s.nodes[1:]...)
		t.Logf("ready after %s", time.Since(began))
		s.startAll(s.sentinels)
		s.awaitSentinels(s.nodes[0])
		t.Logf("known to the Sentinels after %s", time.Since(began))
	})
}
