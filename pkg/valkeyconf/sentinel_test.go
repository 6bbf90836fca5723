// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package valkeyconf_test

import (
	"strings"
	"testing"

	"github.com/valkeykube/valkeykube/pkg/valkeyconf"
)

func sentinelFile() valkeyconf.SentinelFile {
	return valkeyconf.SentinelFile{
		Base: valkeyconf.Config{valkeyconf.D("port", "26379")}, MyID: strings.Repeat("a1", 20), AnnounceHost: "s-0.example", AnnouncePort: 26379,
		PeerUser: "_peer", PeerPassword: "peerpass",
		Monitors: []valkeyconf.SentinelMonitor{{
			Name: "main", Host: "n-0.example", Port: 6379, Quorum: 2, AuthUser: "_sentinel", AuthPassword: "nodepass",
			Settings: valkeyconf.Config{valkeyconf.D("down-after-milliseconds", "5000")}, ConfigEpoch: 3,
			KnownReplicas:  []valkeyconf.SentinelPeer{{Host: "n-1.example", Port: 6379}},
			KnownSentinels: []valkeyconf.SentinelPeer{{Host: "s-1.example", Port: 26379, ID: strings.Repeat("b2", 20)}},
		}},
	}
}

func TestSentinelFile(t *testing.T) {
	config, err := sentinelFile().Config()
	if err != nil {
		t.Fatal(err)
	}
	text, err := config.Render()
	if err != nil {
		t.Fatal(err)
	}
	want := `port 26379
sentinel myid ` + strings.Repeat("a1", 20) + `
sentinel resolve-hostnames yes
sentinel announce-hostnames yes
sentinel deny-scripts-reconfig yes
sentinel announce-ip s-0.example
sentinel announce-port 26379
sentinel sentinel-user _peer
sentinel sentinel-pass peerpass
sentinel monitor main n-0.example 6379 2
sentinel auth-user main _sentinel
sentinel auth-pass main nodepass
sentinel down-after-milliseconds main 5000
sentinel config-epoch main 3
sentinel known-replica main n-1.example 6379
sentinel known-sentinel main s-1.example 26379 ` + strings.Repeat("b2", 20) + `
`
	if text != want {
		t.Errorf("got\n%s\nwant\n%s", text, want)
	}
}

func TestSentinelFileRefusesWhatWouldCorruptIt(t *testing.T) {
	for name, spoil := range map[string]func(*valkeyconf.SentinelFile){
		"short id":              func(s *valkeyconf.SentinelFile) { s.MyID = "abc" },
		"announced host":        func(s *valkeyconf.SentinelFile) { s.AnnounceHost = "a b" },
		"quote in peer pass":    func(s *valkeyconf.SentinelFile) { s.PeerPassword = `ge"heim` },
		"monitor name":          func(s *valkeyconf.SentinelFile) { s.Monitors[0].Name = "a\nb" },
		"no host":               func(s *valkeyconf.SentinelFile) { s.Monitors[0].Host = "" },
		"newline in host":       func(s *valkeyconf.SentinelFile) { s.Monitors[0].Host = "a\nb" },
		"port 0":                func(s *valkeyconf.SentinelFile) { s.Monitors[0].Port = 0 },
		"quorum 0":              func(s *valkeyconf.SentinelFile) { s.Monitors[0].Quorum = 0 },
		"backslash in password": func(s *valkeyconf.SentinelFile) { s.Monitors[0].AuthPassword = `ge\heim` },
		"blank in password":     func(s *valkeyconf.SentinelFile) { s.Monitors[0].AuthPassword = "ge heim" },
		"setting":               func(s *valkeyconf.SentinelFile) { s.Monitors[0].Settings[0].Args = []string{"1\n2"} },
		"empty setting":         func(s *valkeyconf.SentinelFile) { s.Monitors[0].Settings[0].Args = nil },
		"replica":               func(s *valkeyconf.SentinelFile) { s.Monitors[0].KnownReplicas[0].Host = "" },
		"peer without an id":    func(s *valkeyconf.SentinelFile) { s.Monitors[0].KnownSentinels[0].ID = "" },
	} {
		file := sentinelFile()
		spoil(&file)
		config, err := file.Config()
		if err == nil {
			t.Errorf("%s: accepted as %q", name, config)
		} else if strings.Contains(err.Error(), "heim") {
			t.Errorf("%s: the error shows the password: %v", name, err)
		}
	}
}
