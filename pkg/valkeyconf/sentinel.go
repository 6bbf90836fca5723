// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package valkeyconf

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// SentinelFile is what a Sentinel starts with. Sentinel rewrites its file without quoting, so every value in it must be a
// word: nothing with blanks, quotes, backslashes or control characters (a Sentinel would accept it at runtime and not
// start again).
type SentinelFile struct {
	// Base is everything that has no field here: port, dir, TLS, aclfile, and the user's process-wide settings.
	Base Config
	// MyID is the 40 hexadecimal characters that identify it to its peers for ever.
	MyID string
	// AnnounceHost is the host name and AnnouncePort the port under which peers and clients reach it. Port 0: as it listens.
	AnnounceHost string
	AnnouncePort int
	// PeerUser and PeerPassword log it in on its peers. Empty: no login.
	PeerUser, PeerPassword string
	Monitors               []SentinelMonitor
}

// SentinelMonitor is one monitor in a SentinelFile.
type SentinelMonitor struct {
	// Name of letters, digits, ".", "-", "_" only.
	Name string
	// Host and Port of the real primary: Sentinel does not follow a replica to its primary.
	Host string
	Port int
	// Quorum of at least 1.
	Quorum int
	// AuthUser and AuthPassword log it in on the data nodes. Empty: no login.
	AuthUser, AuthPassword string
	// Settings as MonitorSettings returns them.
	Settings Config
	// ConfigEpoch is what the peers hold; 0 for a new monitor.
	ConfigEpoch int64
	// KnownReplicas and KnownSentinels spare it the time to find them.
	KnownReplicas  []SentinelPeer
	KnownSentinels []SentinelPeer
}

// SentinelPeer is a replica, or with an ID another Sentinel.
type SentinelPeer struct {
	Host string
	Port int
	ID   string
}

var errWord = errors.New("a value with a blank, quote, backslash or control character, which Sentinel cannot keep in its file")

// Config is the file as directives. The text of an error holds no password.
func (s SentinelFile) Config() (Config, error) {
	if !isSentinelID(s.MyID) {
		return nil, fmt.Errorf("sentinel id %q: not 40 hexadecimal characters", s.MyID)
	}
	config := append(Config{}, s.Base...)
	config = append(config,
		D("sentinel", "myid", s.MyID),
		D("sentinel", "resolve-hostnames", "yes"),
		D("sentinel", "announce-hostnames", "yes"),
		D("sentinel", "deny-scripts-reconfig", "yes"),
	)
	config = appendWord(config, "sentinel", "announce-ip", s.AnnounceHost)
	if s.AnnouncePort != 0 {
		config = append(config, D("sentinel", "announce-port", strconv.Itoa(s.AnnouncePort)))
	}
	config = appendWord(config, "sentinel", "sentinel-user", s.PeerUser)
	config = appendWord(config, "sentinel", "sentinel-pass", s.PeerPassword)
	for _, monitor := range s.Monitors {
		lines, err := monitor.config()
		if err != nil {
			return nil, err
		}
		config = append(config, lines...)
	}
	return config, checkSentinelWords(config)
}

func (m SentinelMonitor) config() (Config, error) {
	switch {
	case !IsMonitorName(m.Name):
		return nil, fmt.Errorf("monitor name %q: letters, digits, \".\", \"-\", \"_\" only", m.Name)
	case m.Host == "" || m.Port < 1 || m.Port > 65535:
		return nil, fmt.Errorf("monitor %q: no address", m.Name)
	case m.Quorum < 1:
		return nil, fmt.Errorf("monitor %q: quorum %d", m.Name, m.Quorum)
	}
	config := Config{D("sentinel", "monitor", m.Name, m.Host, strconv.Itoa(m.Port), strconv.Itoa(m.Quorum))}
	config = appendWord(config, "sentinel", "auth-user", m.Name, m.AuthUser)
	config = appendWord(config, "sentinel", "auth-pass", m.Name, m.AuthPassword)
	for _, setting := range m.Settings {
		config = append(config, D("sentinel", setting.Name, m.Name, setting.Value()))
	}
	if m.ConfigEpoch > 0 {
		epoch := strconv.FormatInt(m.ConfigEpoch, 10)
		config = append(config, D("sentinel", "config-epoch", m.Name, epoch))
	}
	for _, replica := range m.KnownReplicas {
		config = append(config, D("sentinel", "known-replica", m.Name, replica.Host, strconv.Itoa(replica.Port)))
	}
	for _, peer := range m.KnownSentinels {
		if !isSentinelID(peer.ID) {
			return nil, fmt.Errorf("monitor %q: a known Sentinel's id %q", m.Name, peer.ID)
		}
		config = append(config, D("sentinel", "known-sentinel", m.Name, peer.Host, strconv.Itoa(peer.Port), peer.ID))
	}
	return config, nil
}

// appendWord appends the directive unless its last argument is empty.
func appendWord(config Config, name string, args ...string) Config {
	if args[len(args)-1] == "" {
		return config
	}
	return append(config, D(name, args...))
}

func checkSentinelWords(config Config) error {
	for _, directive := range config {
		if directive.Name != "sentinel" {
			continue
		}
		for _, arg := range directive.Args {
			if arg == "" || !isWord(arg) {
				return fmt.Errorf("sentinel %s: %w", directive.Args[0], errWord)
			}
		}
	}
	return nil
}

// isWord tells whether a value survives being written without quotes.
func isWord(value string) bool {
	return !strings.ContainsFunc(value, func(r rune) bool { return r <= ' ' || r == 0x7f || strings.ContainsRune(`"'\`, r) })
}

// IsMonitorName tells whether a Sentinel can keep a monitor of that name in its file.
func IsMonitorName(name string) bool {
	return name != "" && !strings.ContainsFunc(name, func(r rune) bool {
		return !isLetter(r) && !isDigit(r) && !strings.ContainsRune(".-_", r)
	})
}

func isSentinelID(id string) bool {
	return len(id) == 40 && !strings.ContainsFunc(id, func(r rune) bool { return r > 'f' || hexValue(byte(r)) < 0 })
}
