// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package valkeyclient

import (
	"context"
	"slices"
	"time"
)

// Sentinel is one Sentinel process. As with Node, each method is one bounded round trip to this process
// alone: it gives this Sentinel's own view, which may differ from that of its peers.
type Sentinel interface {
	Ping(ctx context.Context) error
	// MyID is the 40 characters that identify the Sentinel to its peers.
	MyID(ctx context.Context) (string, error)

	// Monitors is all that this Sentinel monitors, sorted by name.
	Monitors(ctx context.Context) ([]Monitor, error)
	// MonitorByName fails with ErrNoSuchMonitor.
	MonitorByName(ctx context.Context, name string) (Monitor, error)
	// Replicas is the replicas that this Sentinel knows for a monitor, sorted by address.
	Replicas(ctx context.Context, name string) ([]MonitoredReplica, error)
	// Sentinels is the other Sentinels that this one knows for a monitor, sorted by id.
	Sentinels(ctx context.Context, name string) ([]PeerSentinel, error)
	// PrimaryAddr is what a client would be told. ErrNoSuchMonitor when the name is unknown.
	PrimaryAddr(ctx context.Context, name string) (Address, error)
	// CheckQuorum returns a failed check as a value, not as an error.
	CheckQuorum(ctx context.Context, name string) (QuorumCheck, error)

	// Register starts to monitor (SENTINEL MONITOR). ErrDuplicateMonitor when the name is known already,
	// also with another address: nothing has changed then. The address must be that of the real primary:
	// Sentinel does not follow a replica to its primary.
	Register(ctx context.Context, registration Registration) error
	// Remove stops to monitor. ErrNoSuchMonitor when there is nothing to remove.
	Remove(ctx context.Context, name string) error
	// Set changes a monitor's settings in order; on an error those before the bad one are applied. Values
	// with characters that would corrupt the Sentinel's own file are refused without being sent.
	Set(ctx context.Context, name string, settings ...Setting) error
	// Reset forgets replicas and Sentinels of the monitors that match the glob pattern, and returns how
	// many did. They are found again within 15 s; no failover is possible meanwhile.
	Reset(ctx context.Context, pattern string) (int, error)
	// Failover asks for a failover without the peers' agreement. It answers at once. ErrInProgress,
	// ErrNoGoodReplica, ErrNoSuchMonitor.
	Failover(ctx context.Context, name string) error
	// FailoverCoordinated is SENTINEL FAILOVER name COORDINATED of Valkey 9 and later.
	FailoverCoordinated(ctx context.Context, name string) error

	// ConfigGet and ConfigSet are SENTINEL CONFIG: global settings of the process.
	ConfigGet(ctx context.Context, pattern string) (map[string]string, error)
	ConfigSet(ctx context.Context, settings ...Setting) error
	// Debug is SENTINEL DEBUG: internal periods in milliseconds ("ping-period", "info-period", ...).
	Debug(ctx context.Context, settings ...Setting) error
	// DebugGet is the present values of all that Debug can set, by name in lower case.
	DebugGet(ctx context.Context) (map[string]string, error)
	// Info is the flat parsed INFO of the Sentinel process.
	Info(ctx context.Context, sections ...string) (Info, error)
	// ACLWhoAmI proves a login.
	ACLWhoAmI(ctx context.Context) (string, error)
	// ACLLoad reloads the Sentinel's own users from its ACL file.
	ACLLoad(ctx context.Context) error

	// Subscribe delivers what the Sentinel publishes until ctx ends or the connection is lost (an error
	// class then, noticed within 10 s also when the peer is silently gone), on a connection of its own.
	// The first Event is EventSubscribed: what is read after it cannot have missed an event. handle is
	// called from one goroutine, in order; it must not block for long.
	Subscribe(ctx context.Context, handle func(Event)) error
}

// Registration is the arguments of SENTINEL MONITOR.
type Registration struct {
	Name    string
	Primary Address
	Quorum  int
}

// Monitor is one monitored primary as one Sentinel sees it (SENTINEL MASTER).
type Monitor struct {
	Name    string
	Primary Address
	// RunID is that of the primary's process; empty when it was never reached.
	RunID string
	// Flags is "master" and, among others, "s_down", "o_down", "disconnected", "failover_in_progress".
	Flags Flags
	// FailoverState is set only while a failover is in flight and this Sentinel leads it.
	FailoverState string
	ConfigEpoch   int64
	Quorum        int
	// NumReplicas and NumOtherSentinels count all that are known, dead ones included.
	NumReplicas, NumOtherSentinels int
	// LastOKPing and InfoRefresh tell how fresh the view is.
	LastOKPing, InfoRefresh time.Duration
	// RoleReported is what the process at the address says of itself.
	RoleReported Role

	DownAfter, FailoverTimeout time.Duration
	ParallelSyncs              int
	// Fields is everything as it was sent, by its wire name (no secrets are among it).
	Fields map[string]string
}

// MonitoredReplica is one replica as one Sentinel sees it (SENTINEL REPLICAS).
type MonitoredReplica struct {
	Address Address
	RunID   string
	Flags   Flags
	// InfoRefresh is how long ago this Sentinel last got its INFO: the phase that a hand-over aligns to.
	InfoRefresh, LastOKPing time.Duration
	LinkUp                  bool
	// Primary is whom it says it follows.
	Primary  Address
	Priority int
	Offset   int64
	Fields   map[string]string
}

// PeerSentinel is another Sentinel as one Sentinel sees it (SENTINEL SENTINELS).
type PeerSentinel struct {
	ID         string
	Address    Address
	Flags      Flags
	LastOKPing time.Duration
	Fields     map[string]string
}

// QuorumCheck is the answer of SENTINEL CKQUORUM. It speaks of reachable Sentinels only, not of the primary.
type QuorumCheck struct {
	OK bool
	// Usable counts the Sentinels that can take part, this one included; -1 when the text does not say.
	Usable int
	// Message is the server's text.
	Message string
}

// EventKind is the channel that an Event came on, such as "+switch-master".
type EventKind string

// The events that consumers act on; all others are delivered too.
const (
	// EventSubscribed is ours: the subscription is in place.
	EventSubscribed   EventKind = "subscribed"
	EventSwitch       EventKind = "+switch-master"
	EventMonitor      EventKind = "+monitor"
	EventUnmonitor    EventKind = "-monitor"
	EventSubjectDown  EventKind = "+sdown"
	EventSubjectUp    EventKind = "-sdown"
	EventObjectDown   EventKind = "+odown"
	EventObjectUp     EventKind = "-odown"
	EventReplicaFound EventKind = "+slave"
	EventFailoverEnd  EventKind = "+failover-end"
)

// Event is one message that a Sentinel publishes.
type Event struct {
	Kind EventKind
	// Monitor is the name of the monitor that it is about; empty when it is about none.
	Monitor string
	// Instance is what it is about: "master", "slave", "sentinel" as on the wire; empty if not said.
	Instance string
	// Address is that of the instance.
	Address Address
	// Old and New are set for EventSwitch only.
	Old, New Address
	// Text is the whole message.
	Text string
}

// Flags is the comma separated flags of an instance.
type Flags []string

// Has tells whether the flag is set.
func (f Flags) Has(flag string) bool { return slices.Contains(f, flag) }
