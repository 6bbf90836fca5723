// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/valkeykube/valkeykube/pkg/agent/decision"
	"github.com/valkeykube/valkeykube/pkg/valkeyclient"
	"github.com/valkeykube/valkeykube/pkg/valkeyclient/valkeytest"
)

// fenceWithin is how long after it was cut off a primary may acknowledge writes: ADR 16 says 5 s, and 7 s in mode Operator; the rest is for
// a busy machine.
const fenceWithin = 10 * time.Second

func (w *writer) awaitRefusal(t *testing.T, prefix string) {
	t.Helper()
	valkeytest.Eventually(t, "the answer to writes is "+prefix, func(context.Context) error {
		if answer := w.answer(); !strings.HasPrefix(answer, prefix) {
			return fmt.Errorf("%q", answer)
		}
		return nil
	})
}

func (w *writer) awaitWrites(t *testing.T, since time.Time) {
	t.Helper()
	valkeytest.Eventually(t, "writes go on", func(context.Context) error {
		if count, _ := w.since(since); count < 100 {
			return fmt.Errorf("%d since then", count)
		}
		return nil
	})
}

// expectFenced checks that no write was acknowledged later than that after the cut, and none again since.
func (w *writer) expectFenced(t *testing.T, cut time.Time) {
	t.Helper()
	count, last := w.since(cut)
	t.Logf("%d writes were acknowledged after the cut, the last one %s after it", count, last.Sub(cut).Round(time.Millisecond))
	if last.Sub(cut) > fenceWithin {
		t.Errorf("writes were acknowledged until %s after the cut", last.Sub(cut))
	}
}

// The primary is cut off, with a client on its side. It stops acknowledging that client's writes, and does not begin again when it is back and
// not demoted yet.
func TestCutOffPrimaryUnderSentinels(t *testing.T) {
	if !inside(t) {
		return
	}
	s := up(t, options{mode: decision.ModeSentinel, replicas: 2, sentinels: 3, config: withoutPersistence, downAfter: 5000, networks: true}, keys)
	old := s.nodes[0]
	w := old.startWriter()
	w.awaitWrites(t, time.Now())
	old.cut()
	cut := time.Now()
	w.awaitRefusal(t, "-NOREPLICAS")
	primary := s.awaitPrimaryOtherThan(old)
	old.heal()
	w.awaitRefusal(t, "-READONLY")
	w.expectFenced(t, cut)
	s.awaitWhole(primary, s.others(primary)...)
	// It is no worse a primary later.
	s.failOver(old)
	w.awaitWrites(t, time.Now())
	if report, err := old.report(); err != nil || report.Node.Fence != nil {
		t.Errorf("%+v, %v", report.Node.Fence, err)
	}
}

// A cut that nobody acts on, because it is over in time, leaves nothing behind.
func TestCutThatIsOver(t *testing.T) {
	if !inside(t) {
		return
	}
	s := up(t, options{mode: decision.ModeSentinel, replicas: 1, sentinels: 3, config: withoutPersistence, downAfter: 120000, networks: true}, keys)
	w := s.nodes[0].startWriter()
	w.awaitWrites(t, time.Now())
	s.nodes[0].cut()
	w.awaitRefusal(t, "-NOREPLICAS")
	s.nodes[0].heal()
	w.awaitWrites(t, time.Now())
	s.awaitWhole(s.nodes[0], s.nodes[1])
}

// A primary that has lost its replicas, and one that has lost its Sentinels, is not cut off.
func TestPrimaryThatIsNotCutOff(t *testing.T) {
	t.Parallel()
	valkeytest.Each(t, func(t *testing.T, binary valkeytest.Binary) {
		s := up(t, options{mode: decision.ModeSentinel, replicas: 1, sentinels: 3, config: withoutPersistence, binary: binary}, keys)
		load := valkeytest.StartLoad(t, 2, func(context.Context) (valkeyclient.Address, error) { return s.nodes[0].address, nil })
		load.ResetGap()
		goesOn := func(what string) {
			t.Helper()
			time.Sleep(fenceWithin)
			before := load.Acknowledged()
			s.eventually("writes go on: "+what, func(context.Context) error { return progress(load, before) })
			if strings.Contains(s.nodes[0].log(), "msg=fence") {
				t.Errorf("%s: the fence was closed", what)
			}
			t.Logf("%s: longest gap %s", what, load.LongestGap().Round(time.Millisecond))
			load.ResetGap()
		}
		for _, sentinel := range s.sentinels {
			sentinel.kill()
		}
		goesOn("without Sentinels")
		s.startAll(s.sentinels)
		for _, sentinel := range s.sentinels {
			s.eventually("ready", func(context.Context) error { return sentinel.ready() })
		}
		s.awaitSentinels(s.nodes[0])
		s.nodes[1].kill()
		s.sentinels[0].kill()
		goesOn("without replicas, and with two of three Sentinels")
		s.sentinels[1].kill()
		began := time.Now()
		s.eventually("the fence is closed", func(context.Context) error {
			report, err := s.nodes[0].report()
			if err == nil && report.Node.Fence == nil {
				err = fmt.Errorf("it is open")
			}
			return err
		})
		t.Logf("closed %s after the majority was gone too", time.Since(began).Round(time.Millisecond))
		s.nodes[1].start()
		before := load.Acknowledged()
		s.eventually("writes go on with a replica", func(context.Context) error { return progress(load, before) })
	})
}

// The user's own min-replicas-to-write stays, and nothing is fenced where the user says so.
func TestNoFenceBesideTheUsersOwn(t *testing.T) {
	t.Parallel()
	config := append([]string{"min-replicas-to-write 0"}, withoutPersistence...)
	s := up(t, options{mode: decision.ModeSentinel, replicas: 1, sentinels: 3, config: config}, keys)
	load := valkeytest.StartLoad(t, 1, func(context.Context) (valkeyclient.Address, error) { return s.nodes[0].address, nil })
	s.nodes[1].kill()
	for _, sentinel := range s.sentinels {
		sentinel.kill()
	}
	time.Sleep(fenceWithin)
	before := load.Acknowledged()
	s.eventually("writes go on", func(context.Context) error { return progress(load, before) })
}

// In mode Operator the controller is who would promote another: while it asks the server for something, the primary is not cut off; once it
// has promoted another, the old primary waits to be demoted.
func TestCutOffPrimaryInModeOperator(t *testing.T) {
	if !inside(t) {
		return
	}
	s := up(t, options{mode: decision.ModeOperator, replicas: 1, config: withoutPersistence, networks: true}, keys)
	old, other := s.nodes[0], s.nodes[1]
	ctx, leave := context.WithCancel(t.Context())
	asks := func(ctx context.Context) {
		for ctx.Err() == nil {
			_, _ = old.role(ctx)
			time.Sleep(time.Second)
		}
	}
	go asks(ctx)
	w := old.startWriter()
	w.awaitWrites(t, time.Now())
	other.kill()
	time.Sleep(fenceWithin)
	w.awaitWrites(t, time.Now())
	if answer := w.answer(); answer != "+OK" {
		t.Errorf("without replicas, in the controller's sight: %s", answer)
	}
	other.start()
	s.awaitWhole(old, other)
	leave()
	old.cut()
	cut := time.Now()
	s.must(other.node().ReplicaOfNoOne(t.Context()))
	w.awaitRefusal(t, "-NOREPLICAS")
	old.heal()
	go asks(t.Context())
	time.Sleep(3 * time.Second) // the controller is back, and has not acted yet
	if answer := w.answer(); !strings.HasPrefix(answer, "-NOREPLICAS") {
		t.Errorf("it takes writes beside its successor: %s", answer)
	}
	s.must(old.node().ReplicaOf(t.Context(), other.address))
	w.awaitRefusal(t, "-READONLY")
	w.expectFenced(t, cut)
}

// A node that is promoted takes writes at once, before its replicas and most of the Sentinels have heard of it.
func TestPromotedPrimaryIsNotFenced(t *testing.T) {
	t.Parallel()
	s := up(t, options{mode: decision.ModeSentinel, replicas: 2, sentinels: 3, config: withoutPersistence}, keys)
	load := valkeytest.StartLoad(t, 2, s.locate)
	s.nodes[0].kill()
	primary := s.awaitPrimaryOtherThan(s.nodes[0])
	before := load.Acknowledged()
	s.eventually("writes go on", func(context.Context) error { return progress(load, before) })
	s.nodes[0].replace()
	s.nodes[0].start()
	s.awaitWhole(primary, s.others(primary)...)
	for _, p := range s.nodes {
		if strings.Contains(p.log(), "msg=fence") {
			t.Errorf("%s was fenced", p.name)
		}
	}
}
