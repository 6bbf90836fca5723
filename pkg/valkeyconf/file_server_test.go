// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package valkeyconf_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/valkeykube/valkeykube/pkg/valkeyclient"
	"github.com/valkeykube/valkeykube/pkg/valkeyclient/valkeytest"
	"github.com/valkeykube/valkeykube/pkg/valkeyconf"
)

// What the server reads from a rendered file is what went in, byte by byte.
func TestServersReadWhatIsRendered(t *testing.T) {
	valkeytest.Each(t, func(t *testing.T, binary valkeytest.Binary) {
		values := map[string]string{
			"masterauth": "a \"b\" 'c' \\d \x01\x7f é #$x", "masteruser": "x'y", "proc-title-template": "{title} {listen-addr}",
		}
		var config valkeyconf.Config
		for key, value := range values {
			config = append(config, valkeyconf.D(key, value))
		}
		accepted, rejected := valkeyconf.NodeSettings(map[string]string{
			"save": "3600 1 300 100", "client-output-buffer-limit": "pubsub 32mb 8mb 60", "notify-keyspace-events": "", "maxmemory": "64mb",
			"oom-score-adj-values": "0 100 200", "latency-tracking-info-percentiles": "50 99",
		})
		if len(rejected) != 0 {
			t.Fatalf("rejected %v", rejected)
		}
		text, err := append(config, accepted...).Render()
		if err != nil {
			t.Fatal(err)
		}
		server := valkeytest.StartServer(t, valkeytest.Options{Binary: binary, Config: []string{text}})
		got, err := server.Node().ConfigGet(t.Context(), "*")
		if err != nil {
			t.Fatal(err)
		}
		for key, want := range map[string]string{
			"save": "3600 1 300 100", "maxmemory": "67108864", "notify-keyspace-events": "", "oom-score-adj-values": "0 100 200",
			"masterauth": values["masterauth"], "masteruser": values["masteruser"], "proc-title-template": values["proc-title-template"],
		} {
			if got[key] != want {
				t.Errorf("%s is %q, want %q", key, got[key], want)
			}
		}
	})
}

// The list of keys that need a restart is that of the servers: each key is set to what it is already.
func TestFixedAtRuntimeIsWhatTheServersSay(t *testing.T) {
	valkeytest.Each(t, func(t *testing.T, binary valkeytest.Binary) {
		server := valkeytest.StartServer(t, valkeytest.Options{Binary: binary})
		config, err := server.Node().ConfigGet(t.Context(), "*")
		if err != nil || len(config) < 200 {
			t.Fatalf("%d settings, %v", len(config), err)
		}
		for key, value := range config {
			answer := set(t, server, key, value)
			immutable := strings.Contains(answer, "can't set immutable config") || strings.Contains(answer, "can't set protected config")
			if fixed := valkeyconf.FixedAtRuntime(binary.Version, key); fixed != immutable && !slices.Contains(instructions, key) {
				t.Errorf("%s: FixedAtRuntime says %t, the server says %s", key, fixed, answer)
			}
		}
	})
}

// instructions are changed by commands of their own in place of CONFIG SET.
var instructions = []string{"replicaof", "slaveof"}

func TestFixedAtRuntimeByVersion(t *testing.T) {
	for _, c := range []struct {
		version, key string
		want         bool
	}{
		{"8.0.1", "io-threads", true}, {"8.1", "io-threads", true}, {"9.1.2", "io-threads", false}, {"", "io-threads", true},
		{"8.0", "io-threads-do-reads", true}, {"8.1.1", "io-threads-do-reads", false}, {"9.1", "hash-seed", true}, {"8.1", "hash-seed", false},
		{"9.1", "slaveof", true}, {"9.1", "maxmemory", false}, {"nonsense", "maxmemory", false}, {"10.0", "databases", true},
	} {
		if got := valkeyconf.FixedAtRuntime(c.version, c.key); got != c.want {
			t.Errorf("%s %s: %t", c.version, c.key, got)
		}
	}
}

// set sends CONFIG SET with the arguments as they are.
func set(t *testing.T, server *valkeytest.Process, key, value string) string {
	t.Helper()
	s := dial(t, server, "")
	defer func() { _ = s.connection.Close() }()
	words := []string{"CONFIG", "SET", key, value}
	command := "*" + strconv.Itoa(len(words)) + "\r\n"
	for _, word := range words {
		command += "$" + strconv.Itoa(len(word)) + "\r\n" + word + "\r\n"
	}
	if _, err := io.WriteString(s.connection, command); err != nil {
		return err.Error()
	}
	line, err := bufio.NewReader(s.connection).ReadString('\n')
	return strings.TrimSpace(line) + fmt.Sprint(errOrEmpty(err))
}

func errOrEmpty(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// A rendered sentinel.conf is read by every version, and what is in it is in force from the start: the identity, the monitor with
// its settings, its epoch, and whom it knows.
func TestSentinelsStartWithTheRenderedFile(t *testing.T) {
	valkeytest.Each(t, func(t *testing.T, binary valkeytest.Binary) {
		ctx := t.Context()
		primary := valkeytest.StartServer(t, valkeytest.Options{Binary: binary})
		file := sentinelFile()
		file.Base = nil
		file.AnnounceHost, file.AnnouncePort = "127.0.0.1", 0
		monitor := &file.Monitors[0]
		monitor.Host, monitor.Port = primary.Address.Host, primary.Address.Port
		monitor.AuthUser, monitor.AuthPassword = "", ""
		monitor.KnownReplicas[0].Host, monitor.KnownSentinels[0].Host = "127.0.0.1", "127.0.0.1"
		accepted, _ := valkeyconf.MonitorSettings(map[string]string{
			"down-after-milliseconds": "7000", "failover-timeout": "60000", "parallel-syncs": "2", "primary-reboot-down-after-period": "1000",
		})
		monitor.Settings = accepted
		config, err := file.Config()
		if err != nil {
			t.Fatal(err)
		}
		text, err := config.Render()
		if err != nil {
			t.Fatal(err)
		}
		process := valkeytest.StartSentinel(t, valkeytest.Options{Binary: binary, Config: []string{text}})
		if id, err := process.Sentinel().MyID(ctx); err != nil || id != file.MyID {
			t.Errorf("MyID %q, %v", id, err)
		}
		valkeytest.Eventually(t, "the monitor is as in the file", func(ctx context.Context) error {
			got, err := process.Sentinel().MonitorByName(ctx, "main")
			if err != nil {
				return err
			}
			if got.Primary != primary.Address || got.Quorum != 2 || got.ConfigEpoch != 3 || got.DownAfter.Milliseconds() != 7000 ||
				got.ParallelSyncs != 2 || got.NumReplicas != 1 || got.NumOtherSentinels != 1 || got.FailoverTimeout.Seconds() != 60 {
				return fmt.Errorf("%+v", got)
			}
			return nil
		})
		// Sentinel rewrites its file: it must be able to start from that too.
		if err := process.Sentinel().Set(ctx, "main", valkeyclient.Setting{Key: "quorum", Value: "1"}); err != nil {
			t.Fatal(err)
		}
		process.Kill()
		process.Start()
		if got, err := process.Sentinel().MonitorByName(ctx, "main"); err != nil || got.Quorum != 1 {
			t.Errorf("after a restart: %+v, %v", got, err)
		}
	})
}
