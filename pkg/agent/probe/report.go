// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package probe

import (
	"time"

	"github.com/valkeykube/valkeykube/pkg/agent/decision"
	"github.com/valkeykube/valkeykube/pkg/topology"
)

// Phase is what an agent is doing.
type Phase string

// The phases, in the order in which they come.
const (
	PhaseDeciding Phase = "Deciding"
	PhaseRunning  Phase = "Running"
	PhaseStopping Phase = "Stopping"
)

// Report is what /bootz shows.
type Report struct {
	// Name of the node or Sentinel pod.
	Name string `json:"name"`
	// Version of the agent.
	Version string `json:"version,omitempty"`
	Phase   Phase  `json:"phase"`
	// Since the phase began.
	Since time.Time `json:"since,omitzero"`
	// Node is set on data nodes, Sentinel on Sentinels.
	Node     *Node     `json:"node,omitempty"`
	Sentinel *Sentinel `json:"sentinel,omitempty"`
}

// Node is the part about a data node.
type Node struct {
	// Decision is the last one, and while the server runs the one that it was started by.
	Decision Decision `json:"decision,omitzero"`
	// Named and Source, Starts, Intends and StandsBack are for the peers: see decision.Agent.
	Named      string            `json:"named,omitempty"`
	Source     decision.Source   `json:"source,omitempty"`
	Starts     string            `json:"starts,omitempty"`
	Intends    bool              `json:"intends,omitempty"`
	StandsBack bool              `json:"standsBack,omitempty"`
	HasData    bool              `json:"hasData"`
	Position   decision.Position `json:"position,omitzero"`
	WasPrimary bool              `json:"wasPrimary,omitempty"`
	// Mounts are hashes of the mounted files as they are now: from them the server would be started again.
	Mounts Mounts `json:"mounts,omitzero"`
	// Running is the server when the agent last looked.
	Running *Running `json:"running,omitempty"`
	// Fence is set while the server refuses writes because another node may be the primary.
	Fence *Fence `json:"fence,omitempty"`
}

// Mounts are the hashes of the files of the mounted ConfigMap: the boot settings and the server's configuration.
type Mounts struct {
	Settings string `json:"settings,omitempty"`
	Config   string `json:"config,omitempty"`
}

// Fence is a refusal of writes.
type Fence struct {
	Since  time.Time `json:"since"`
	Reason string    `json:"reason"`
}

// Decision is one decision in words.
type Decision struct {
	Action  decision.Action `json:"action"`
	Code    decision.Code   `json:"code"`
	Primary string          `json:"primary,omitempty"`
	Ask     decision.Ask    `json:"ask,omitempty"`
	Target  string          `json:"target,omitempty"`
	Reason  string          `json:"reason"`
	// After is how long the node had been deciding, in seconds.
	After float64 `json:"after"`
}

// Running is what a server said of itself.
type Running struct {
	Role    topology.Role `json:"role"`
	Follows string        `json:"follows,omitempty"`
	LinkUp  bool          `json:"linkUp,omitempty"`
	Loading bool          `json:"loading,omitempty"`
	Keys    int64         `json:"keys"`
	Seen    time.Time     `json:"seen"`
}

// Sentinel is the part about a Sentinel: what its own file says, which it rewrites with every change.
type Sentinel struct {
	MyID         string    `json:"myID"`
	CurrentEpoch int64     `json:"currentEpoch"`
	Monitors     []Monitor `json:"monitors,omitempty"`
	// In a cold start: Proposed is whom it would monitor by what it sees itself. Settled is whom it will monitor, as all
	// Sentinels do; it is told before the Sentinel is started, because data nodes need its word to start, and a Sentinel would hold
	// a primary that has not started for down.
	Proposed []Monitor `json:"proposed,omitempty"`
	Settled  []Monitor `json:"settled,omitempty"`
}

// Monitor is one monitor.
type Monitor struct {
	Name string `json:"name"`
	Host string `json:"host"`
	Port int    `json:"port"`
	// ConfigEpoch is 0 until the first failover.
	ConfigEpoch int64 `json:"configEpoch"`
}
