// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package sentinel

import (
	"fmt"
	"log/slog"
	"time"

	"github.com/valkeykube/valkeykube/pkg/naming"
)

// Options says where everything is. Pod must be set; the defaults of the rest are those of the pod.
type Options struct {
	// Pod is this pod's name. PodIP is known to the resolver from the beginning.
	Pod, PodIP string
	// ConfigDir and TLSDir are mounted, RunDir is for what does not outlive the pod, StateDir is where the Sentinel's file is kept.
	ConfigDir, TLSDir, RunDir, StateDir string
	// Listen is where probes are answered, AgentPort where other agents answer.
	Listen    string
	AgentPort int
	// DNSListen is where the resolver answers.
	DNSListen string
	// Server is the binary; empty: valkey-server is looked for.
	Server string
	// ServerHost is how the agent reaches its own Sentinel.
	ServerHost string
	// Patience bounds the wait for members and peers in a cold start.
	Patience time.Duration
	// Version of the agent, for reports.
	Version string
	// ReapAll is set for pid 1.
	ReapAll bool
	Log     *slog.Logger
}

// DefaultPatience is shorter than the time for which data nodes wait for their Sentinels.
const DefaultPatience = 8 * time.Second

func (o Options) withDefaults() Options {
	for _, text := range []struct {
		value *string
		usual string
	}{
		{&o.ConfigDir, naming.ConfigDir}, {&o.TLSDir, naming.TLSDir}, {&o.RunDir, naming.RunDir}, {&o.StateDir, naming.SentinelDir},
		{&o.Listen, fmt.Sprintf(":%d", naming.PortAgent)}, {&o.DNSListen, "127.0.0.1:53"}, {&o.ServerHost, "127.0.0.1"},
	} {
		if *text.value == "" {
			*text.value = text.usual
		}
	}
	if o.AgentPort == 0 {
		o.AgentPort = naming.PortAgent
	}
	if o.Patience <= 0 {
		o.Patience = DefaultPatience
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return o
}
