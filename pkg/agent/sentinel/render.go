// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package sentinel

import (
	"fmt"
	"log/slog"
	"path/filepath"
	"slices"
	"strconv"

	"github.com/valkeykube/valkeykube/pkg/boot"
	"github.com/valkeykube/valkeykube/pkg/naming"
	"github.com/valkeykube/valkeykube/pkg/valkeyconf"
)

// rendering is what a file is made of.
type rendering struct {
	settings boot.Sentinel
	self     boot.Endpoint
	myID     string
	stateDir string
	// listening is where it listens, and what with.
	listening valkeyconf.Config
	// reloads: the Sentinel can be told to read its certificate again.
	reloads bool
	// aclFile is empty where there is none.
	aclFile string
	memory  memory
	// primaries by monitor.
	primaries map[string]settled
	log       *slog.Logger
}

// text is the whole file. What would keep a Sentinel from starting is left out, with a line in the log: a Sentinel that
// lacks one monitor is better than none.
func (r rendering) text() (string, error) {
	config, err := r.base().Config()
	if err != nil {
		return "", err
	}
	if epoch := r.memory.currentEpoch(); epoch > 0 {
		config = append(config, valkeyconf.D("sentinel", "current-epoch", strconv.FormatInt(epoch, 10)))
	}
	for _, monitor := range r.settings.Monitors {
		lines, err := r.monitor(monitor)
		if err != nil {
			r.log.Error("a monitor is left out", "monitor", monitor.Name, "err", err)
			continue
		}
		config = append(config, lines...)
	}
	return config.Render()
}

func (r rendering) base() valkeyconf.SentinelFile {
	base, rejected := valkeyconf.SentinelSettings(r.settings.Config)
	r.logRejected("", rejected)
	base = append(append(base, r.listening...), valkeyconf.D("dir", r.stateDir))
	if r.reloads {
		base = append(base, valkeyconf.D("tls-auto-reload-interval", reloadEvery))
	}
	if r.aclFile != "" {
		base = append(base, valkeyconf.D("aclfile", r.aclFile))
	}
	return valkeyconf.SentinelFile{
		Base: base, MyID: r.myID, AnnounceHost: r.self.Host, AnnouncePort: r.self.Port,
		PeerUser: r.settings.PeerUser, PeerPassword: r.settings.PeerPass,
	}
}

func (r rendering) logRejected(monitor string, rejected []valkeyconf.Rejected) {
	for _, setting := range rejected {
		r.log.Warn("a setting is left out", "monitor", monitor, "key", setting.Key, "reason", setting.Reason)
	}
}

// monitor is the lines of one monitor.
func (r rendering) monitor(monitor boot.Monitor) (valkeyconf.Config, error) {
	primary := r.primaries[monitor.Name]
	settings, rejected := valkeyconf.MonitorSettings(monitor.Settings)
	r.logRejected(monitor.Name, rejected)
	wanted := valkeyconf.SentinelMonitor{
		Name: monitor.Name, Host: primary.primary.Host, Port: primary.primary.Port, Quorum: monitor.Quorum,
		AuthUser: monitor.AuthUser, AuthPassword: monitor.AuthPass, Settings: settings, ConfigEpoch: primary.configEpoch,
		KnownReplicas: r.knownReplicas(monitor, primary), KnownSentinels: r.knownSentinels(),
	}
	// The package checks whole files only.
	file := valkeyconf.SentinelFile{MyID: r.myID}
	before, err := file.Config()
	if err != nil {
		return nil, err
	}
	file.Monitors = []valkeyconf.SentinelMonitor{wanted}
	with, err := file.Config()
	if err != nil {
		return nil, err
	}
	lines := with[len(before):]
	if primary.leaderEpoch > 0 {
		lines = append(lines, valkeyconf.D("sentinel", "leader-epoch", monitor.Name, strconv.FormatInt(primary.leaderEpoch, 10)))
	}
	if _, err := lines.Render(); err != nil {
		return nil, err
	}
	return lines, nil
}

// knownReplicas are all other members. Sentinel would learn of them from the primary, but not from one that is down: then it could
// promote nobody.
func (r rendering) knownReplicas(monitor boot.Monitor, primary settled) []valkeyconf.SentinelPeer {
	var known []valkeyconf.SentinelPeer
	for _, member := range monitor.Members {
		replica := valkeyconf.SentinelPeer{Host: member.Host, Port: member.Port}
		isPrimary := member.Host == primary.primary.Host && member.Port == primary.primary.Port
		if !isPrimary && member.Host != "" && member.Port > 0 && !slices.Contains(known, replica) {
			known = append(known, replica) // twice the same would keep it from starting
		}
	}
	return known
}

// knownSentinels are the peers, whose ids follow from their names.
func (r rendering) knownSentinels() []valkeyconf.SentinelPeer {
	var known []valkeyconf.SentinelPeer
	for _, peer := range r.settings.Peers {
		sentinel := valkeyconf.SentinelPeer{Host: peer.Host, Port: peer.Port, ID: naming.SentinelID(r.settings.SetUID, peer.Name)}
		if peer.Name != r.self.Name && !slices.Contains(known, sentinel) {
			known = append(known, sentinel)
		}
	}
	return known
}

// self finds the pod among the peers.
func self(settings boot.Sentinel, pod string) (boot.Endpoint, error) {
	for _, peer := range settings.Peers {
		if peer.Name == pod {
			if peer.Port == 0 {
				peer.Port = naming.PortSentinel
			}
			return peer, nil
		}
	}
	return boot.Endpoint{}, fmt.Errorf("%s is none of the %d Sentinels of %s", pod, len(settings.Peers), settings.Set)
}

func aclFile(configDir string) string { return filepath.Join(configDir, naming.KeyACL) }
