// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/valkeykube/valkeykube/pkg/agent/decision"
	"github.com/valkeykube/valkeykube/pkg/valkeyclient/valkeytest"
)

// The pod of the primary is deleted under load: nothing that was acknowledged is lost.
func TestHandOverAtTheEnd(t *testing.T) {
	t.Parallel()
	valkeytest.Each(t, func(t *testing.T, binary valkeytest.Binary) {
		for _, mode := range []string{decision.ModeNone, decision.ModeOperator, decision.ModeSentinel} {
			t.Run(mode, func(t *testing.T) {
				o := options{mode: mode, replicas: 2, config: withoutPersistence, downAfter: 5000, binary: binary}
				if mode == decision.ModeSentinel {
					o.sentinels = 3
				}
				s := up(t, o, 0)
				load := valkeytest.StartLoad(t, 2, s.locate)
				load.ResetGap()
				began := time.Now()
				s.nodes[0].stop()
				ended := time.Since(began)
				primary := s.awaitPrimaryOtherThan(s.nodes[0])
				before := load.Acknowledged()
				s.eventually("writes go on", func(context.Context) error { return progress(load, before) })
				load.Stop()
				if lost := load.Lost(t, primary.process()); lost != 0 {
					t.Errorf("%d of %d acknowledged writes are lost", lost, load.Acknowledged())
				}
				t.Logf("%d writes, none may be lost; ended after %s, longest gap %s", load.Acknowledged(), ended.Round(time.Millisecond), load.LongestGap().Round(time.Millisecond))
				if !strings.Contains(s.nodes[0].log(), "handed over") {
					t.Error("nothing was handed over")
				}
				if gap := load.LongestGap(); gap > 3*time.Second {
					t.Errorf("no write for %s", gap)
				}
				// It comes back as a replica, whatever the hint says.
				s.nodes[0].replace()
				s.nodes[0].start()
				s.awaitWhole(primary, s.others(primary)...)
			})
		}
	})
}

// progress is nil once so many writes more were acknowledged.
func progress(load *valkeytest.Load, before int) error {
	if now := load.Acknowledged(); now < before+100 {
		return fmt.Errorf("%d after %d", now, before)
	}
	return nil
}

// A replica, and a primary without replicas, end at once.
func TestNothingToHandOver(t *testing.T) {
	t.Parallel()
	s := up(t, options{mode: decision.ModeSentinel, replicas: 1, sentinels: 3, config: withoutPersistence}, keys)
	for _, p := range []*pod{s.nodes[1], s.nodes[0]} {
		began := time.Now()
		p.stop()
		if took := time.Since(began); took > 5*time.Second {
			t.Errorf("%s took %s to end", p.name, took)
		}
	}
}

// All members are stopped at once: nobody waits for somebody who is leaving too.
func TestAllEndAtOnce(t *testing.T) {
	t.Parallel()
	s := up(t, options{mode: decision.ModeOperator, replicas: 2, config: []string{"save 3600 1"}, persistent: true}, keys)
	began := time.Now()
	s.down(true)
	if took := time.Since(began); took > 20*time.Second {
		t.Errorf("it took %s", took)
	}
	for _, p := range s.nodes {
		p.replace()
	}
	s.startAll(s.nodes)
	s.expectOneWholeSet(keys)
}

// A pod that is deleted while it waits ends at once.
func TestEndWhileWaiting(t *testing.T) {
	t.Parallel()
	s := newSet(t, options{mode: decision.ModeNone, replicas: 1})
	s.nodes[1].start()
	s.eventually("it answers", func(context.Context) error { _, err := s.nodes[1].report(); return err })
	began := time.Now()
	s.nodes[1].stop()
	if took := time.Since(began); took > 5*time.Second {
		t.Errorf("it took %s", took)
	}
}

// Nothing secret is where others can read it: not among arguments and environments of processes, nor in logs or reports.
func TestNoSecretIsShown(t *testing.T) {
	s := up(t, options{mode: decision.ModeSentinel, replicas: 1, sentinels: 3, config: withoutPersistence}, keys)
	s.nodes[0].killServer()
	s.nodes[0].start()
	s.awaitPrimaryOtherThan(s.nodes[0])
	for _, file := range []string{"cmdline", "environ"} {
		paths, err := filepath.Glob("/proc/[0-9]*/" + file)
		s.must(err)
		for _, path := range paths {
			if content, err := os.ReadFile(path); err == nil && strings.Contains(string(content), password) {
				t.Errorf("the password is in %s", path)
			}
		}
	}
	for _, p := range append(append([]*pod{}, s.nodes...), s.sentinels...) {
		_, report, err := p.get("/bootz")
		s.must(err)
		if strings.Contains(p.log(), password) || strings.Contains(report, password) {
			t.Errorf("%s shows the password", p.name)
		}
		for _, file := range []string{"run/valkey.conf", "run/names.json", "data/.valkey-agent.json", "state/state/sentinel.conf"} {
			info, err := os.Stat(p.path(file))
			if err == nil && info.Mode().Perm()&0o077 != 0 && !strings.HasSuffix(file, "sentinel.conf") {
				t.Errorf("%s: %s is %s", p.name, file, info.Mode())
			}
		}
	}
}
