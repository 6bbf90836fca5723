// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/valkeykube/valkeykube/pkg/agent/decision"
	"github.com/valkeykube/valkeykube/pkg/valkeyclient"
	"github.com/valkeykube/valkeykube/pkg/valkeyclient/valkeytest"
)

var withoutPersistence = []string{`save ""`, "appendonly no"}

const keys = 500

// The server of the primary is killed, and its container is back at once, long before anybody holds it for down. It is empty: if
// it served, its replicas would copy that.
func TestPrimaryWithoutPersistenceIsKilledUnderSentinels(t *testing.T) {
	t.Parallel()
	valkeytest.Each(t, func(t *testing.T, binary valkeytest.Binary) {
		s := up(t, options{
			mode: decision.ModeSentinel, replicas: 2, sentinels: 3, config: withoutPersistence, downAfter: 30000, binary: binary,
		}, keys)
		old := s.nodes[0]
		old.killServer()
		began := time.Now()
		old.start()
		primary := s.awaitPrimaryOtherThan(old)
		t.Logf("another primary %s after the container was back", time.Since(began))
		s.awaitWhole(primary, s.others(primary)...)
		for _, p := range s.nodes {
			s.expectKeys(p, keys)
		}
		if elapsed := time.Since(began); elapsed > 20*time.Second {
			t.Errorf("it took %s: nobody asked the Sentinels", elapsed)
		}
	})
}

func TestPrimaryWithoutPersistenceIsKilledInModeNone(t *testing.T) {
	t.Parallel()
	s := up(t, options{mode: decision.ModeNone, replicas: 2, config: withoutPersistence}, keys)
	old := s.nodes[0]
	old.killServer()
	old.start()
	primary := s.awaitPrimaryOtherThan(old)
	s.awaitWhole(primary, s.others(primary)...)
	for _, p := range s.nodes {
		s.expectKeys(p, keys)
	}
	// The hint still names the old primary, which is a replica now. Whoever restarts must not be misled by it.
	for _, p := range s.others(primary) {
		p.killServer()
		p.start()
		s.awaitWhole(primary, s.others(primary)...)
		s.expectKeys(p, keys)
	}
}

func TestPrimaryWithoutPersistenceWaitsForTheController(t *testing.T) {
	t.Parallel()
	s := up(t, options{mode: decision.ModeOperator, replicas: 2, config: withoutPersistence}, keys)
	old := s.nodes[0]
	old.killServer()
	old.start()
	s.eventually("it says that it waits", func(context.Context) error { return says(old, decision.CodeEmpty) })
	if code, body, err := old.get("/livez"); code != 200 || err != nil {
		t.Errorf("it would be restarted: %d %s, %v", code, body, err)
	}
	for _, p := range s.others(old) { // what the controller does
		if p == s.nodes[2] {
			s.must(p.node().ReplicaOf(t.Context(), s.nodes[1].address))
			continue
		}
		s.must(p.node().ReplicaOfNoOne(t.Context()))
	}
	s.awaitWhole(s.nodes[1], old, s.nodes[2])
	s.expectKeys(old, keys)
}

// With an append-only file nothing is missing, and nobody need be promoted.
func TestPrimaryWithAppendOnlyFileIsKilled(t *testing.T) {
	t.Parallel()
	for _, mode := range []string{decision.ModeNone, decision.ModeOperator, decision.ModeSentinel} {
		t.Run(mode, func(t *testing.T) {
			o := options{mode: mode, replicas: 2, config: []string{`save ""`, "appendonly yes"}, persistent: true, downAfter: 30000}
			if mode == decision.ModeSentinel {
				o.sentinels = 3
			}
			s := up(t, o, keys)
			s.nodes[0].killServer()
			s.nodes[0].start()
			s.awaitWhole(s.nodes[0], s.nodes[1:]...)
			for _, p := range s.nodes {
				s.expectKeys(p, keys)
			}
		})
	}
}

// A snapshot that is older than what the replicas have must not become the set's.
func TestPrimaryWithAnOldSnapshotIsKilled(t *testing.T) {
	t.Parallel()
	s := up(t, options{
		mode: decision.ModeSentinel, replicas: 2, sentinels: 3, config: []string{"save 3600 1000000"}, persistent: true, downAfter: 30000,
	}, keys)
	old := s.nodes[0]
	s.must(save(t.Context(), old))
	s.fill(old, "later", keys, s.nodes[1:]...)
	old.killServer()
	old.start()
	primary := s.awaitPrimaryOtherThan(old)
	s.awaitWhole(primary, s.others(primary)...)
	for _, p := range s.nodes {
		s.expectKeys(p, 2*keys)
	}
}

// The controller is away, the primary was changed, and the old one's pod is deleted: it must not come back as a primary.
func TestOldPrimaryComesBackAfterAFailover(t *testing.T) {
	t.Parallel()
	s := up(t, options{mode: decision.ModeSentinel, replicas: 2, sentinels: 3, config: withoutPersistence}, keys)
	old := s.nodes[0]
	old.kill()
	primary := s.awaitPrimaryOtherThan(old)
	s.fill(primary, "later", keys)
	old.replace()
	before := len(old.log())
	old.start()
	s.awaitWhole(primary, s.others(primary)...)
	for _, p := range s.nodes {
		s.expectKeys(p, 2*keys)
	}
	if strings.Contains(old.log()[before:], string(decision.StartPrimary)) {
		t.Error("it was a primary for a while")
	}
}

// The primary and a replica are lost at once, and nobody promotes the replica that has the data for longer than an empty node waits. The
// empty replica must not be promoted instead: Sentinel would choose it rather than one whose link has been down for long.
func TestEmptyReplicaIsNotPromotedAmongData(t *testing.T) {
	t.Parallel()
	s := up(t, options{
		mode: decision.ModeSentinel, replicas: 2, sentinels: 3, config: withoutPersistence, downAfter: 30000, flags: []string{"--wait-empty", "1s"},
	}, keys)
	primary, empty, holder := s.nodes[0], s.nodes[1], s.nodes[2]
	s.setPriority(holder, "0")
	for _, p := range []*pod{primary, empty} {
		p.kill()
		p.replace()
	}
	before := len(empty.log())
	for _, p := range []*pod{empty, primary} {
		p.start()
	}
	s.eventually("the empty replica has looked at the others", func(context.Context) error {
		log := empty.log()[before:]
		if strings.Contains(log, "may be promoted") {
			t.Fatal("an empty node may be promoted while another holds the data")
		}
		if !strings.Contains(log, "stays unpromotable") {
			return errors.New("it has not")
		}
		return nil
	})
	s.setPriority(holder, "100")
	s.awaitWhole(holder, s.others(holder)...)
	for _, p := range s.nodes {
		s.expectKeys(p, keys)
	}
	s.eventually("the replica has a copy, and may be promoted", func(context.Context) error {
		if !strings.Contains(empty.log()[before:], "may be promoted") {
			return errors.New("not yet")
		}
		return nil
	})
}

// setPriority sets a replica's priority and waits until every Sentinel knows.
func (s *set) setPriority(p *pod, priority string) {
	s.t.Helper()
	s.must(p.node().ConfigSet(s.t.Context(), valkeyclient.Setting{Key: "replica-priority", Value: priority}))
	for _, sentinel := range s.sentinels {
		s.must(sentinel.sentinel().Debug(s.t.Context(), valkeyclient.Setting{Key: "info-period", Value: "500"}))
		s.eventually(sentinel.name+" knows the priority of "+p.name, func(ctx context.Context) error {
			replicas, err := sentinel.sentinel().Replicas(ctx, monitorName)
			for _, r := range replicas {
				if r.Address == p.announced && strconv.Itoa(r.Priority) == priority {
					return nil
				}
			}
			return errors.Join(errors.New("not yet"), err)
		})
	}
}

// says is nil if the node is not ready, and says why.
func says(p *pod, why decision.Code) error {
	code, body, err := p.get("/readyz")
	if err == nil && (code == http.StatusOK || !strings.Contains(body, string(why))) {
		err = fmt.Errorf("%s: %d %s", p.name, code, body)
	}
	return err
}
