// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package valkeyconf_test

import (
	"reflect"
	"strings"
	"testing"

	"github.com/valkeykube/valkeykube/pkg/valkeyconf"
)

func TestNodeSettings(t *testing.T) {
	config, rejected := valkeyconf.NodeSettings(map[string]string{
		"maxmemory-policy":           "allkeys-lru",
		"SAVE":                       "3600 1 300 100",
		"client-output-buffer-limit": "normal 0 0 0 pubsub 32mb 8mb 60",
		"proc-title-template":        "{title} {port}",
		"notify-keyspace-events":     "",
		"loadmodule":                 `/usr/lib/mod.so "an argument"`,
		"port":                       "1",
		"slaveof":                    "h 1",
		"masterauth":                 "x",
		"tls-cert-file":              "x",
		"tls-protocols":              "TLSv1.3",
		"bad\nkey":                   "x",
		"maxclients":                 "1\nrequirepass x",
		"timeout":                    `"open`,
	})
	want := valkeyconf.Config{
		valkeyconf.D("save", "3600", "1", "300", "100"),
		valkeyconf.D("client-output-buffer-limit", "normal", "0", "0", "0", "pubsub", "32mb", "8mb", "60"),
		valkeyconf.D("loadmodule", "/usr/lib/mod.so", "an argument"),
		valkeyconf.D("maxmemory-policy", "allkeys-lru"),
		valkeyconf.D("notify-keyspace-events", ""),
		valkeyconf.D("proc-title-template", "{title} {port}"),
		valkeyconf.D("tls-protocols", "TLSv1.3"),
	}
	if !reflect.DeepEqual(config, want) {
		t.Errorf("accepted %q,\nwant %q", config, want)
	}
	owned, invalid := namesOf(rejected)
	if want := "masterauth,port,slaveof,tls-cert-file"; owned != want {
		t.Errorf("owned %s, want %s", owned, want)
	}
	if want := "bad\nkey,maxclients,timeout"; invalid != want {
		t.Errorf("invalid %q, want %q", invalid, want)
	}
	if _, err := config.Render(); err != nil {
		t.Errorf("what is accepted cannot be rendered: %v", err)
	}
}

func namesOf(rejected []valkeyconf.Rejected) (owned, invalid string) {
	var o, i []string
	for _, r := range rejected {
		if r.Reason == "" {
			panic("no reason for " + r.Key)
		}
		if r.Owned {
			o = append(o, r.Key)
		} else {
			i = append(i, r.Key)
		}
	}
	return strings.Join(o, ","), strings.Join(i, ",")
}

func TestOwnedKeys(t *testing.T) {
	for _, key := range []string{
		"port", "bind", "dir", "replicaof", "SLAVEOF", "aclfile", "requirepass", "masteruser", "primaryuser", "masterauth", "primaryauth",
		"tls-port", "tls-replication", "unixsocket", "include", "daemonize", "supervised", "pidfile", "logfile", "replica-announce-ip",
		"slave-announce-port", "user", "rename-command", "cluster-enabled", " port ", "appendonly",
	} {
		if reason, owned := valkeyconf.OwnedByNode(key); !owned || reason == "" {
			t.Errorf("%q is not owned", key)
		}
	}
	for _, key := range []string{
		"maxmemory", "loadmodule", "replica-priority", "save", "tls-ciphers", "min-replicas-to-write", "io-threads", "appendfsync", "hz",
	} {
		if reason, owned := valkeyconf.OwnedByNode(key); owned {
			t.Errorf("%q is owned: %s", key, reason)
		}
	}
	for _, key := range []string{
		"port", "sentinel monitor", "sentinel  auth-pass", "Sentinel MyID", "announce-ip", "resolve-hostnames", "known-slave", "quorum",
		"down-after-milliseconds", "sentinel notification-script", "aclfile",
	} {
		if reason, owned := valkeyconf.OwnedBySentinel(key); !owned || reason == "" {
			t.Errorf("Sentinel: %q is not owned", key)
		}
	}
	for _, key := range []string{"loglevel", "maxclients", "sentineltimeout"} {
		if reason, owned := valkeyconf.OwnedBySentinel(key); owned {
			t.Errorf("Sentinel: %q is owned: %s", key, reason)
		}
	}
}

func TestMonitorSettings(t *testing.T) {
	config, rejected := valkeyconf.MonitorSettings(map[string]string{
		"down-after-milliseconds": " 5000 ", "failover-timeout": "60000", "sentinel parallel-syncs": "2",
		"primary-reboot-down-after-period": "1000", "quorum": "1", "auth-pass": "x", "client-reconfig-script": "/x", "foo": "1",
	})
	want := valkeyconf.Config{
		valkeyconf.D("down-after-milliseconds", "5000"), valkeyconf.D("failover-timeout", "60000"),
		valkeyconf.D("master-reboot-down-after-period", "1000"), valkeyconf.D("parallel-syncs", "2"),
	}
	if !reflect.DeepEqual(config, want) {
		t.Errorf("accepted %q", config)
	}
	if owned, invalid := namesOf(rejected); owned != "auth-pass,client-reconfig-script,quorum" || invalid != "foo" {
		t.Errorf("owned %s, invalid %s", owned, invalid)
	}
	for _, value := range []string{"", "0", "-1", "1s", "1 2", "99999999999", "1\n2"} {
		if config, rejected := valkeyconf.MonitorSettings(map[string]string{"down-after-milliseconds": value}); len(config) != 0 || len(rejected) != 1 {
			t.Errorf("down-after-milliseconds %q was accepted", value)
		}
	}
}

func TestSentinelSettings(t *testing.T) {
	config, rejected := valkeyconf.SentinelSettings(map[string]string{"loglevel": "verbose", "maxclients": "100", "sentinel myid": "x"})
	want := valkeyconf.Config{valkeyconf.D("loglevel", "verbose"), valkeyconf.D("maxclients", "100")}
	if !reflect.DeepEqual(config, want) || len(rejected) != 1 || !rejected[0].Owned {
		t.Errorf("%q, %v", config, rejected)
	}
}

func FuzzNodeSettings(f *testing.F) {
	f.Add("maxmemory", "1mb")
	f.Add("save", "\"\" x")
	f.Add("a\nb", "x\ny")
	f.Fuzz(func(t *testing.T, key, value string) {
		for _, settings := range []func(map[string]string) (valkeyconf.Config, []valkeyconf.Rejected){
			valkeyconf.NodeSettings, valkeyconf.SentinelSettings, valkeyconf.MonitorSettings,
		} {
			config, rejected := settings(map[string]string{key: value})
			if len(config)+len(rejected) != 1 {
				t.Fatalf("%q is neither accepted nor rejected", key)
			}
			text, err := config.Render()
			if err != nil || strings.Count(text, "\n") != len(config) {
				t.Fatalf("accepted, but not rendered as one line: %q, %v", text, err)
			}
		}
	})
}
