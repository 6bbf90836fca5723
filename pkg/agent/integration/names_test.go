// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"context"
	"testing"
	"time"

	"github.com/valkeykube/valkeykube/pkg/agent/decision"
)

// The cluster's DNS is down, dead or dropping packets, and then the primary is killed: everything goes on as with DNS.
func TestFailoverWithoutDNS(t *testing.T) {
	t.Parallel()
	if !inside(t) {
		return
	}
	for _, how := range []string{"hangs", "is dead"} {
		t.Run(how, func(t *testing.T) {
			cluster := startDNS(t)
			s := newSet(t, options{mode: decision.ModeSentinel, replicas: 2, sentinels: 3, config: withoutPersistence, dns: dnsAddress})
			cluster.add(append(append([]*pod{}, s.nodes...), s.sentinels...)...)
			s.startAll(s.nodes)
			s.awaitWhole(s.nodes[0], s.nodes[1:]...)
			s.setHint(s.nodes[0])
			s.startAll(s.sentinels)
			s.awaitSentinels(s.nodes[0])
			s.fill(s.nodes[0], "key", keys, s.nodes[1:]...)
			before := cluster.count()
			time.Sleep(5 * time.Second) // the measured time
			t.Logf("%.1f queries a second reach the cluster's DNS", float64(cluster.count()-before)/5)

			if how == "hangs" {
				cluster.hang(true)
			} else {
				cluster.stop()
			}
			time.Sleep(2 * time.Second) // every answer has expired

			old := s.nodes[0]
			old.kill()
			began := time.Now()
			primary := s.awaitPrimaryOtherThan(old)
			t.Logf("another primary after %s", time.Since(began))
			if took := time.Since(began); took > 10*time.Second {
				t.Errorf("it took %s", took)
			}
			for _, p := range s.others(old) {
				asked := time.Now()
				_ = p.ready()
				if took := time.Since(asked); took > 2*time.Second {
					t.Errorf("the probe of %s took %s", p.name, took)
				}
			}
			// The container comes back, and those of a replica and a Sentinel are restarted, all without DNS.
			replica := s.others(primary)[1]
			for _, p := range []*pod{replica, s.sentinels[0]} {
				p.killServer()
				p.start()
			}
			old.start()
			s.awaitWhole(primary, s.others(primary)...)
			s.awaitSentinels(primary)
			for _, p := range s.nodes {
				s.expectKeys(p, keys)
			}
		})
	}
}

// A new pod knows nothing while DNS is down. It follows whom the controller names, is not ready, and becomes so when DNS is back.
func TestNewPodsWithoutDNS(t *testing.T) {
	t.Parallel()
	if !inside(t) {
		return
	}
	cluster := startDNS(t)
	s := newSet(t, options{
		mode: decision.ModeSentinel, replicas: 2, sentinels: 3, config: withoutPersistence, dns: dnsAddress, flags: []string{"--wait-cold", "4s", "--wait-sentinels", "2s"},
	})
	cluster.add(append(append([]*pod{}, s.nodes...), s.sentinels...)...)
	s.startAll(s.nodes)
	s.awaitWhole(s.nodes[0], s.nodes[1:]...)
	s.setHint(s.nodes[0])
	s.startAll(s.sentinels)
	s.awaitSentinels(s.nodes[0])
	s.fill(s.nodes[0], "key", keys, s.nodes[1:]...)

	cluster.hang(true)
	for _, p := range s.nodes[:2] { // the primary, whom the hint still names, and a replica
		p.kill()
		p.replace()
		p.start()
	}
	primary := s.awaitPrimaryOtherThan(s.nodes[0])
	if primary != s.nodes[2] {
		t.Fatalf("%s is the primary", primary.name)
	}
	s.eventually("the empty primary waits", func(context.Context) error { return says(s.nodes[0], decision.CodeBlind) })
	s.eventually("the replica starts", func(ctx context.Context) error { _, err := s.nodes[1].role(ctx); return err })
	cluster.hang(false)
	s.awaitWhole(primary, s.others(primary)...)
	s.awaitSentinels(primary)
	for _, p := range s.nodes {
		s.expectKeys(p, keys)
	}
}
