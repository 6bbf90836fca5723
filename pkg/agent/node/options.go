// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package node

import (
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/valkeykube/valkeykube/pkg/agent/decision"
	"github.com/valkeykube/valkeykube/pkg/agent/probe"
	"github.com/valkeykube/valkeykube/pkg/boot"
	"github.com/valkeykube/valkeykube/pkg/naming"
	"github.com/valkeykube/valkeykube/pkg/valkeyclient"
	"github.com/valkeykube/valkeykube/pkg/valkeyconf"
)

// Options says where everything is. Node must be set; the defaults of the rest are those of the pod.
type Options struct {
	// Node is the ValkeyNode's name. PodIP is known to the resolver from the beginning.
	Node, PodIP string
	// ConfigDir, ACLDir, PasswordsDir and TLSDir are mounted, RunDir is for secrets and DataDir is the volume.
	ConfigDir, ACLDir, PasswordsDir, TLSDir, RunDir, DataDir string
	// Listen is where probes are answered, AgentPort where other agents answer.
	Listen    string
	AgentPort int
	// DNSListen is where the resolver answers.
	DNSListen string
	// Server is the server's binary; empty: valkey-server is looked for.
	Server string
	// ServerHost is how the agent reaches its own server.
	ServerHost string
	// Grace bounds the end: the hand-over and the server's own shutdown.
	Grace time.Duration
	// Limits bound the waits of the decision. Poll is the time between two looks while waiting.
	Limits decision.Limits
	Poll   time.Duration
	// UsersEvery is how often the server's users are compared with the ACL file, and LockedPatience how long a server that lets the agent in
	// no more is left alone. Default 10 s and 1 min.
	UsersEvery, LockedPatience time.Duration
	// CertificateEvery is how often the mounted certificate is looked at. Default 2 s.
	CertificateEvery time.Duration
	// Version of the agent, for reports.
	Version string
	// ReapAll is set for pid 1.
	ReapAll bool
	Log     *slog.Logger
}

// DefaultGrace is how long the end may take unless the pod says otherwise.
const DefaultGrace = 20 * time.Second

func (o Options) withDefaults() Options {
	for _, text := range []struct {
		value *string
		usual string
	}{
		{&o.ConfigDir, naming.ConfigDir}, {&o.ACLDir, naming.ACLDir}, {&o.PasswordsDir, naming.PasswordsDir},
		{&o.TLSDir, naming.TLSDir}, {&o.RunDir, naming.RunDir}, {&o.DataDir, naming.DataDir}, {&o.Listen, fmt.Sprintf(":%d", naming.PortAgent)},
		{&o.DNSListen, "127.0.0.1:53"}, {&o.ServerHost, "127.0.0.1"},
	} {
		if *text.value == "" {
			*text.value = text.usual
		}
	}
	if o.AgentPort == 0 {
		o.AgentPort = naming.PortAgent
	}
	if o.Grace <= 0 {
		o.Grace = DefaultGrace
	}
	if o.Limits == (decision.Limits{}) {
		o.Limits = decision.DefaultLimits()
	}
	if o.Poll <= 0 {
		o.Poll = 300 * time.Millisecond
	}
	if o.UsersEvery <= 0 {
		o.UsersEvery = 10 * time.Second
	}
	if o.CertificateEvery <= 0 {
		o.CertificateEvery = 2 * time.Second
	}
	if o.LockedPatience <= 0 {
		o.LockedPatience = time.Minute
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return o
}

// Files in the run and data directories.
const (
	fileConfig    = "valkey.conf"
	fileNames     = "names.json"
	fileDeciding  = "deciding.json"
	fileRecord    = ".valkey-agent.json"
	dirTLS        = "tls"
	sentinelUser  = naming.UserAgent
	settingsTries = 20
)

// settings reads the boot settings. The mount may be swapped while it is read, so that a failure is tried again.
func (o Options) settings() (boot.Node, error) {
	var settings boot.Node
	path := filepath.Join(o.ConfigDir, naming.KeyBoot)
	var err error
	for range settingsTries {
		var text []byte
		if text, err = os.ReadFile(path); err == nil {
			settings, err = boot.Decode[boot.Node](text)
		}
		if err == nil {
			return settings, nil
		}
		time.Sleep(50 * time.Millisecond)
	}
	return settings, fmt.Errorf("boot settings in %s: %w", path, err)
}

// mounts are the hashes of the mounted files. A file that cannot be read has none.
func (o Options) mounts() probe.Mounts {
	hash := func(key string) string {
		text, err := os.ReadFile(filepath.Join(o.ConfigDir, key))
		if err != nil {
			return ""
		}
		return valkeyconf.Hash(string(text))
	}
	return probe.Mounts{Settings: hash(naming.KeyBoot), Config: hash(naming.KeyServerConfig)}
}

// hosts are all whom the node speaks to, by the settings as they are now.
func (o Options) hosts() []string {
	settings, err := o.settings()
	if err != nil {
		return nil
	}
	var names []string
	for _, endpoint := range append(settings.Members, settings.Sentinels...) {
		names = append(names, endpoint.Host)
	}
	return names
}

// credentials of the agent's user on data nodes. A node that was made by hand has none.
func (o Options) credentials() valkeyclient.Credentials {
	return o.login(naming.UserAgent, naming.UserAgent)
}

// sentinelCredentials on Sentinels; none while no Sentinel monitors the set, or before the password has come.
func (o Options) sentinelCredentials() valkeyclient.Credentials {
	return o.login(sentinelUser, naming.KeySentinelAgent)
}

func (o Options) login(user, key string) valkeyclient.Credentials {
	password, err := readPassword(o.PasswordsDir, key)
	if err != nil || password == "" {
		return valkeyclient.Credentials{}
	}
	return valkeyclient.Credentials{Username: user, Password: password}
}

// readPassword is empty for a password that does not exist.
func readPassword(dir, key string) (string, error) {
	text, err := os.ReadFile(filepath.Join(dir, key))
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("password of %s: %w", key, err)
	}
	return strings.TrimRight(string(text), "\r\n"), nil
}
