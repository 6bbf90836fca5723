// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"context"
	"fmt"
	"testing"

	"github.com/valkeykube/valkeykube/pkg/agent/decision"
	"github.com/valkeykube/valkeykube/pkg/naming"
	"github.com/valkeykube/valkeykube/pkg/valkeyclient"
)

// failOver makes the Sentinels promote the node.
func (s *set) failOver(to *pod) {
	s.t.Helper()
	for _, p := range s.nodes {
		priority := "100"
		if p == to {
			priority = "1"
		}
		s.must(p.node().ConfigSet(s.t.Context(), valkeyclient.Setting{Key: "replica-priority", Value: priority}))
	}
	leader := s.sentinels[0].sentinel()
	s.must(leader.Debug(s.t.Context(), valkeyclient.Setting{Key: "info-period", Value: "500"}))
	s.eventually("the Sentinel sees whom to promote", func(ctx context.Context) error {
		replicas, err := leader.Replicas(ctx, monitorName)
		for _, r := range replicas {
			if r.Address == to.announced && r.Priority == 1 {
				return nil
			}
		}
		return fmt.Errorf("not yet: %w", err)
	})
	s.must(leader.Failover(s.t.Context(), monitorName))
	s.eventually(to.name+" is a primary", func(ctx context.Context) error {
		role, err := to.role(ctx)
		if err == nil && role.Role != valkeyclient.RolePrimary {
			err = fmt.Errorf("it is a %s", role.Role)
		}
		return err
	})
	for _, p := range s.others(to) { // Sentinel takes 10 s to do it
		s.must(p.node().ReplicaOf(s.t.Context(), to.announced))
	}
	s.eventually(to.name+" is promoted", func(ctx context.Context) error {
		named, err := s.sentinelPrimary(ctx)
		if err == nil && named != to {
			err = fmt.Errorf("the Sentinels name %s", named.name)
		}
		return err
	})
	s.awaitWhole(to, s.others(to)...)
}

// After a failover that the controller has not heard of, everything is stopped, and starts again: the newest data wins,
// in whatever order and with whatever persistence.
func TestColdStart(t *testing.T) {
	t.Parallel()
	persistence := map[string][]string{
		"AOF": {`save ""`, "appendonly yes"},
		"RDB": {"save 3600 1", "appendonly no"},
	}
	for kind, config := range persistence {
		for _, how := range []string{"killed", "stopped"} {
			if kind == "RDB" && how == "killed" {
				continue // what was not saved is lost on all nodes
			}
			for _, order := range []string{"old primary first", "new primary first"} {
				t.Run(kind+", "+how+", "+order, func(t *testing.T) {
					s := up(t, options{mode: decision.ModeSentinel, replicas: 2, sentinels: 3, config: config, persistent: true}, keys)
					s.failOver(s.nodes[2])
					s.fill(s.nodes[2], "later", keys)
					s.awaitRecord(s.nodes[2])
					s.down(how == "stopped")
					first := s.nodes
					if order == "new primary first" {
						first = []*pod{s.nodes[2], s.nodes[1], s.nodes[0]}
					}
					for _, p := range append(append([]*pod{}, s.nodes...), s.sentinels...) {
						p.replace()
						if p.kind == "sentinel" {
							p.forget()
						}
					}
					s.startAll(first[:1])
					s.startAll(s.sentinels)
					s.startAll(first[1:])
					s.expectOneWholeSet(2 * keys)
				})
			}
		}
	}
}

// awaitRecord waits until the agent has noted that its server is the primary, which takes it a quarter of a second: a set that is
// killed in that time after a failover is like one in which it did not happen.
func (s *set) awaitRecord(primary *pod) {
	s.t.Helper()
	s.eventually("the record", func(ctx context.Context) error {
		replication, err := primary.node().Replication(ctx)
		if err != nil {
			return err
		}
		report, err := primary.report()
		if err == nil && report.Node.Position.ReplID != replication.ReplID {
			err = fmt.Errorf("of another history")
		}
		return err
	})
}

// down ends all at once: the nodes first, of those that are asked the primary last, as when a namespace is emptied.
func (s *set) down(gently bool) {
	s.t.Helper()
	if !gently {
		for _, p := range append(append([]*pod{}, s.sentinels...), s.nodes...) {
			p.kill()
		}
		return
	}
	for _, p := range append(append([]*pod{}, s.nodes...), s.sentinels...) {
		p.terminate()
	}
	for _, p := range append(append([]*pod{}, s.nodes...), s.sentinels...) {
		p.awaitExit(0)
	}
}

// expectOneWholeSet waits for one primary, which the Sentinels name, with so many keys on every node.
func (s *set) expectOneWholeSet(keys int64) {
	s.t.Helper()
	primary := s.awaitPrimaryOtherThan(nil)
	s.awaitWhole(primary, s.others(primary)...)
	if len(s.sentinels) > 0 {
		s.awaitSentinels(primary)
	}
	for _, p := range s.nodes {
		s.expectKeys(p, keys)
	}
}

// Without persistence nothing is left to be lost, and nobody waits for anybody.
func TestColdStartOfNothing(t *testing.T) {
	t.Parallel()
	for _, mode := range []string{decision.ModeNone, decision.ModeOperator, decision.ModeSentinel} {
		t.Run(mode, func(t *testing.T) {
			o := options{mode: mode, replicas: 2, config: withoutPersistence}
			if mode == decision.ModeSentinel {
				o.sentinels = 3
			}
			s := up(t, o, keys)
			s.down(false)
			for _, p := range append(append([]*pod{}, s.nodes...), s.sentinels...) {
				p.replace()
			}
			s.startAll(s.nodes)
			s.startAll(s.sentinels)
			s.expectOneWholeSet(0)
		})
	}
}

// The volume of the primary is lost, and everything is started anew: the data is on the replicas.
func TestColdStartWithoutThePrimarysVolume(t *testing.T) {
	t.Parallel()
	for _, mode := range []string{decision.ModeNone, decision.ModeSentinel} {
		t.Run(mode, func(t *testing.T) {
			o := options{mode: mode, replicas: 2, config: []string{`save ""`, "appendonly yes"}, persistent: true}
			if mode == decision.ModeSentinel {
				o.sentinels = 3
			}
			s := up(t, o, keys)
			s.down(false)
			s.nodes[0].lose("data")
			for _, p := range append(append([]*pod{}, s.nodes...), s.sentinels...) {
				p.replace()
			}
			s.startAll(s.nodes)
			s.startAll(s.sentinels)
			s.expectOneWholeSet(keys)
		})
	}
}

// A new set of the same name finds the volumes of the old one, of which that of node 0 is gone.
func TestNewSetFindsOldVolumes(t *testing.T) {
	t.Parallel()
	for _, mode := range []string{decision.ModeNone, decision.ModeSentinel} {
		t.Run(mode, func(t *testing.T) {
			s := up(t, options{mode: mode, replicas: 2, config: []string{`save ""`, "appendonly yes"}, persistent: true}, keys)
			s.down(true)
			s.nodes[0].lose("data")
			s.hint = ""
			s.write()
			for _, p := range s.nodes {
				p.replace()
			}
			s.startAll(s.nodes)
			s.expectOneWholeSet(keys)
		})
	}
}

// The way of persistence is changed by a restart: what the former way has kept is loaded.
func TestChangeOfPersistence(t *testing.T) {
	t.Parallel()
	rdb, aof := []string{"save 3600 1", "appendonly no"}, []string{`save ""`, "appendonly yes"}
	for name, change := range map[string][2][]string{"RDB to AOF": {rdb, aof}, "AOF to RDB": {aof, rdb}} {
		t.Run(name, func(t *testing.T) {
			s := up(t, options{mode: decision.ModeNone, config: change[0], persistent: true}, keys)
			s.nodes[0].stop()
			s.options.config = change[1]
			s.write()
			s.nodes[0].start()
			s.awaitWhole(s.nodes[0])
			s.expectKeys(s.nodes[0], keys)
			s.eventually("it persists as configured", func(ctx context.Context) error {
				status, err := s.nodes[0].node().Status(ctx)
				if want := name == "RDB to AOF"; err == nil && status.Persistence.AOFEnabled != want {
					err = fmt.Errorf("append-only: %t", status.Persistence.AOFEnabled)
				}
				return err
			})
			s.fill(s.nodes[0], "later", keys)
			s.nodes[0].stop()
			s.nodes[0].start()
			s.awaitWhole(s.nodes[0])
			s.expectKeys(s.nodes[0], 2*keys)
		})
	}
}

// Servers that run cease to keep an append-only file. What comes later is on the replica when the primary is killed before it took a snapshot: the
// file that is left must not be taken for all that there was.
func TestAppendOnlyFileThatIsNotKeptAnyMore(t *testing.T) {
	t.Parallel()
	s := up(t, options{mode: decision.ModeNone, replicas: 1, config: []string{`save ""`, "appendonly yes"}, persistent: true}, keys)
	s.options.config = []string{"save 3600 1", "appendonly no"}
	s.write()
	for _, p := range s.nodes {
		s.must(p.node().ConfigSet(t.Context(), valkeyclient.Setting{Key: "appendonly", Value: "no"}, valkeyclient.Setting{Key: "save", Value: "3600 1"}))
	}
	s.fill(s.nodes[0], "later", keys, s.nodes[1])
	s.awaitRecord(s.nodes[0])
	s.nodes[0].kill()
	s.nodes[0].start()
	s.expectOneWholeSet(2 * keys)
}

// A node that a person made by hand has no set, no ACL file and no passwords.
func TestNodeByHand(t *testing.T) {
	t.Parallel()
	s := newSet(t, options{mode: decision.ModeNone, config: []string{`save ""`}})
	p := s.nodes[0]
	p.put("config/"+naming.KeyBoot, `{"namespace":"ns","dns":{"clusterDomain":"`+zone+`"},"members":[{"name":"v-0","host":"`+p.address.Host+`","port":`+fmt.Sprint(p.address.Port)+`}]}`)
	for _, dir := range []string{"acl", "passwords"} {
		p.lose(dir)
	}
	p.start()
	s.eventually("ready", func(context.Context) error { return p.ready() })
	p.stop()
}
