// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/valkeykube/valkeykube/pkg/agent/decision"
	"github.com/valkeykube/valkeykube/pkg/naming"
	"github.com/valkeykube/valkeykube/pkg/valkeyclient"
	"github.com/valkeykube/valkeykube/pkg/valkeyclient/valkeytest"
)

// The container of a Sentinel dies and comes back; then its pod is replaced, with everything it knew: it monitors the right
// node again, knows both peers, and can take part in a failover.
func TestSentinelComesBack(t *testing.T) {
	t.Parallel()
	valkeytest.Each(t, func(t *testing.T, binary valkeytest.Binary) {
		s := up(t, options{mode: decision.ModeSentinel, replicas: 2, sentinels: 3, config: withoutPersistence, binary: binary}, keys)
		s.failOver(s.nodes[2])
		victim := s.sentinels[1]
		for _, replaced := range []bool{false, true} {
			victim.killServer()
			if replaced {
				victim.replace()
				victim.forget()
			}
			victim.start()
			began := time.Now()
			s.eventually("ready", func(context.Context) error { return victim.ready() })
			s.must(s.nodes[2].node().ConfigSet(t.Context(), valkeyclient.Setting{Key: "replica-priority", Value: "100"}))
			s.awaitSentinels(s.nodes[2])
			t.Logf("replaced %t: whole %s after it was back", replaced, time.Since(began))
			m, err := victim.sentinel().MonitorByName(t.Context(), monitorName)
			if err != nil || m.ConfigEpoch == 0 {
				t.Errorf("epoch %d, %v", m.ConfigEpoch, err)
			}
			if id, err := victim.sentinel().MyID(t.Context()); err != nil || id != naming.SentinelID(setUID, victim.name) {
				t.Errorf("id %s, %v", id, err)
			}
		}
		// The one that came back is needed for the majority now.
		s.sentinels[0].kill()
		s.sentinels = s.sentinels[1:]
		s.nodes[2].kill()
		s.awaitPrimaryOtherThan(s.nodes[2])
	})
}

// However short the down-after of a monitor is, several answers must be missing before a server is held for down. Another down-after is followed
// while the Sentinel runs.
func TestPingPeriodFollowsDownAfter(t *testing.T) {
	t.Parallel()
	valkeytest.Each(t, func(t *testing.T, binary valkeytest.Binary) {
		s := up(t, options{mode: decision.ModeSentinel, replicas: 1, sentinels: 1, config: withoutPersistence, downAfter: 1000, binary: binary}, 1)
		sentinel := s.sentinels[0]
		s.awaitPing(sentinel, "200")
		s.must(sentinel.sentinel().Set(t.Context(), monitorName, valkeyclient.Setting{Key: "down-after-milliseconds", Value: "500"}))
		s.awaitPing(sentinel, "100")
		s.must(sentinel.sentinel().Set(t.Context(), monitorName, valkeyclient.Setting{Key: "down-after-milliseconds", Value: "30000"}))
		s.awaitPing(sentinel, "1000")
	})
}

func (s *set) awaitPing(sentinel *pod, want string) {
	s.t.Helper()
	s.eventually("a ping period of "+want, func(ctx context.Context) error {
		periods, err := sentinel.sentinel().DebugGet(ctx)
		if err == nil && periods["ping-period"] != want {
			err = fmt.Errorf("it is %s", periods["ping-period"])
		}
		return err
	})
}

// The Sentinel that leads a failover is told to end in the moment of the promotion: its peers hear of it all the same, and do not fail over
// once more.
func TestSentinelEndsWhileItLeads(t *testing.T) {
	t.Parallel()
	valkeytest.Each(t, func(t *testing.T, binary valkeytest.Binary) {
		s := up(t, options{mode: decision.ModeSentinel, replicas: 2, sentinels: 3, config: withoutPersistence, binary: binary}, keys)
		s.awaitSentinels(s.nodes[0])
		leader := s.sentinels[0]
		s.must(leader.sentinel().Failover(t.Context(), monitorName))
		leader.stop()
		promoted, err := s.sentinels[1].sentinel().PrimaryAddr(t.Context(), monitorName)
		s.must(err)
		if promoted == s.nodes[0].announced {
			t.Fatalf("the leader ended, and %s still names the old primary\n%s", s.sentinels[1].name, leader.log())
		}
		if named, err := s.sentinels[2].sentinel().PrimaryAddr(t.Context(), monitorName); err != nil || named != promoted {
			t.Errorf("%s names %s, not %s (%v)", s.sentinels[2].name, named, promoted, err)
		}
		s.sentinels = s.sentinels[1:]
		if now := s.awaitPrimaryOtherThan(s.nodes[0]); now.announced != promoted {
			t.Errorf("%s is primary, %s was promoted", now.name, promoted)
		}
	})
}

// What would keep a Sentinel from starting is left out.
func TestSentinelWithBadSettings(t *testing.T) {
	t.Parallel()
	s := newSet(t, options{mode: decision.ModeSentinel, replicas: 2, sentinels: 3, config: withoutPersistence})
	settings := s.sentinelSettings()
	bad := settings.Monitors[0]
	bad.Name = "bad name"
	worse := settings.Monitors[0]
	worse.Name, worse.AuthPass = "worse", `quo"ted`
	settings.Monitors[0].Settings["down-after-milliseconds"] = "1\nbind 0.0.0.0"
	settings.Monitors = append(settings.Monitors, bad, worse)
	settings.Config = map[string]string{"announce-ip": "192.0.2.1", "loglevel": "notice"}
	s.writeSentinels(settings)
	s.startAll(s.nodes)
	s.startAll(s.sentinels)
	s.awaitSentinels(s.nodes[0])
	monitors, err := s.sentinels[0].sentinel().Monitors(t.Context())
	if err != nil || len(monitors) != 1 {
		t.Errorf("%v, %v", monitors, err)
	}
	log := s.sentinels[0].log()
	for _, want := range []string{`"bad name"`, "monitor=worse", "down-after-milliseconds", "announce-ip"} {
		if !strings.Contains(log, want) {
			t.Errorf("nothing is said about %s", want)
		}
	}
}

// A value of the user's that the Sentinel refuses costs the user's configuration, not the Sentinel.
func TestSentinelWithAValueThatItRefuses(t *testing.T) {
	t.Parallel()
	s := newSet(t, options{mode: decision.ModeSentinel, replicas: 2, sentinels: 3, config: withoutPersistence})
	settings := s.sentinelSettings()
	settings.Config = map[string]string{"loglevel": "deafening"}
	s.writeSentinels(settings)
	s.startAll(s.nodes)
	s.startAll(s.sentinels)
	s.awaitSentinels(s.nodes[0])
	for _, p := range s.sentinels {
		p.stop()
	}
}

// Names of members that do not resolve, yet, are no reason not to start.
func TestSentinelWithoutItsMembers(t *testing.T) {
	t.Parallel()
	s := newSet(t, options{mode: decision.ModeSentinel, replicas: 2, sentinels: 3, config: withoutPersistence})
	settings := s.sentinelSettings()
	m := &settings.Monitors[0]
	m.Host = "v-0.example.invalid"
	for i := range m.Members {
		m.Members[i].Host = m.Members[i].Name + ".example.invalid"
	}
	s.writeSentinels(settings)
	s.startAll(s.sentinels)
	for _, p := range s.sentinels {
		s.eventually("ready", func(context.Context) error { return p.ready() })
	}
}

func TestFilesOfSentinelsAreForNobodyElse(t *testing.T) {
	t.Parallel()
	s := up(t, options{mode: decision.ModeSentinel, replicas: 1, sentinels: 3, config: withoutPersistence}, 0)
	for path, want := range map[string]os.FileMode{
		s.sentinels[0].path("state/state"): 0o700, s.nodes[0].path("run/valkey.conf"): 0o600,
	} {
		info, err := os.Stat(path)
		if err != nil || info.Mode().Perm() != want {
			t.Errorf("%s: %v, %v", path, info, err)
		}
	}
}
