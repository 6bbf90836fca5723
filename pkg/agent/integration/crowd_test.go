// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/valkeykube/valkeykube/pkg/agent/decision"
	"github.com/valkeykube/valkeykube/pkg/valkeyclient"
	"github.com/valkeykube/valkeykube/pkg/valkeyclient/valkeytest"
)

// fewClients are room for the product's own, and for a small crowd.
var fewClients = append([]string{"maxclients 40"}, withoutPersistence...)

// expectNoRoom checks that nobody else can connect, and that the pod is ready all the same.
func (p *pod) expectNoRoom(t *testing.T) {
	t.Helper()
	stranger := valkeytest.NewClient(t)
	node, err := stranger.Node(p.target(adminUser))
	if err == nil {
		err = node.Ping(t.Context())
	}
	if !errors.Is(err, valkeyclient.ErrTooManyClients) {
		t.Errorf("another client: %v", err)
	}
	if err := p.ready(); err != nil {
		t.Errorf("not ready: %v", err)
	}
}

// Clients take all connections of a primary. It stays ready, its replica linked, and the Sentinels, which are connected, do nothing. Sentinels that
// start anew cannot connect, hold it for down and replace it; then it makes room by itself, and is demoted.
func TestPrimaryWithAllTheClientsItMayHave(t *testing.T) {
	t.Parallel()
	valkeytest.Each(t, func(t *testing.T, binary valkeytest.Binary) {
		// Sentinels that ask every second, as they do by themselves, would at times go back to the old primary, with this down-after.
		o := options{mode: decision.ModeSentinel, replicas: 1, sentinels: 3, config: fewClients, downAfter: 1000, binary: binary}
		s := up(t, o, keys)
		old := s.nodes[0]
		valkeytest.StartCrowd(t, old.address)
		for deadline := time.Now().Add(4 * time.Second); time.Now().Before(deadline); time.Sleep(500 * time.Millisecond) { // the time in which nothing may happen
			old.expectNoRoom(t)
			if now, err := s.sentinelPrimary(t.Context()); err != nil || now != old {
				t.Fatalf("the Sentinels name %v, %v", now, err)
			}
		}
		if report, err := old.report(); err != nil || report.Node.Fence != nil {
			t.Errorf("it is fenced: %+v, %v", report.Node, err)
		}
		for _, sentinel := range s.sentinels {
			sentinel.kill()
			valkeytest.StartCrowd(t, old.address) // it takes what the Sentinel had
			sentinel.start()
			s.eventually("ready", func(context.Context) error { return sentinel.ready() })
		}
		primary := s.awaitPrimaryOtherThan(old)
		s.awaitWhole(primary, s.others(primary)...)
	})
}

// A primary is full, and its replica and its controller have lost their connections: nobody can confirm it, and it would refuse writes for ever.
func TestFullPrimaryThatNobodyCanReach(t *testing.T) {
	t.Parallel()
	s := up(t, options{mode: decision.ModeOperator, replicas: 1, config: fewClients}, keys)
	old := s.nodes[0]
	s.nodes[1].kill()
	valkeytest.StartCrowd(t, old.address)
	s.nodes[1].start()
	s.eventually("the replica is linked again", func(ctx context.Context) error {
		role, err := s.nodes[1].role(ctx)
		if err == nil && role.Link != "connected" {
			err = fmt.Errorf("its link is %s", role.Link)
		}
		return err
	})
	s.eventually("the fence is open", func(context.Context) error {
		report, err := old.report()
		if err == nil && report.Node.Fence != nil {
			err = errors.New("it is closed")
		}
		return err
	})
}
