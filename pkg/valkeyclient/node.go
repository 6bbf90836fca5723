// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package valkeyclient

import (
	"context"
	"time"
)

// Role is what a server says it is.
type Role string

// The roles. A Sentinel answers ROLE too.
const (
	RolePrimary  Role = "primary"
	RoleReplica  Role = "replica"
	RoleSentinel Role = "sentinel"
)

// PauseMode says which client commands CLIENT PAUSE holds back.
type PauseMode string

// The pause modes. PauseWrite lets reads, replication and administration go on.
const (
	PauseWrite PauseMode = "WRITE"
	PauseAll   PauseMode = "ALL"
)

// ClientType selects connections to kill.
type ClientType string

// The client types that are ever killed: ordinary connections and subscribers.
const (
	ClientNormal ClientType = "normal"
	ClientPubSub ClientType = "pubsub"
)

// Node is one Valkey data server. Every method makes one round trip, is cut off by the Client's call
// timeout or ctx, whichever is first, and fails with one of this package's error classes.
// Reads may be repeated once on a fresh connection; nothing that changes state is ever repeated.
type Node interface {
	// Ping fails with ErrLoading while the server loads its dataset.
	Ping(ctx context.Context) error
	// Role is the parsed answer of ROLE.
	Role(ctx context.Context) (RoleReport, error)
	// Replication is the parsed "replication" section of INFO.
	Replication(ctx context.Context) (Replication, error)
	// Status is one INFO call with everything that a look at a member needs.
	Status(ctx context.Context) (Status, error)
	// Info is the flat parsed INFO of the given sections (none: the default sections).
	Info(ctx context.Context, sections ...string) (Info, error)
	// DBSize counts the keys of database 0; Status.Keys counts those of all databases.
	DBSize(ctx context.Context) (int64, error)

	ConfigGet(ctx context.Context, patterns ...string) (map[string]string, error)
	// ConfigSet sets all or none of the settings in one command.
	ConfigSet(ctx context.Context, settings ...Setting) error
	// ConfigRewrite writes the running configuration to the server's file.
	ConfigRewrite(ctx context.Context) error

	// ReplicaOf makes the server a replica of the address. Its data is replaced by the primary's.
	ReplicaOf(ctx context.Context, primary Address) error
	// ReplicaOfNoOne makes the server a primary with the data it has.
	ReplicaOfNoOne(ctx context.Context) error
	// Failover starts a coordinated hand-over inside the server: it answers at once, and the result is
	// seen in Replication.FailoverState and Role. ErrInProgress when one is running already.
	Failover(ctx context.Context, request FailoverRequest) error
	// FailoverAbort ends a running Failover. No error when there is none.
	FailoverAbort(ctx context.Context) error

	// ClientPause holds back commands for at most d (millisecond precision). A later, shorter pause never
	// shortens an earlier one.
	ClientPause(ctx context.Context, mode PauseMode, d time.Duration) error
	ClientUnpause(ctx context.Context) error
	// ClientKill closes the connections of the types, except the one that asks, and returns how many.
	ClientKill(ctx context.Context, types ...ClientType) (int, error)
	// ClientKillUser closes the connections that are logged in as the user (those without a login are "default"), except the one that asks.
	ClientKillUser(ctx context.Context, user string) (int, error)
	// ClientList is the connections, the one that asks among them.
	ClientList(ctx context.Context) ([]Connected, error)

	// ACLLoad replaces the users by the content of the server's ACL file: all or nothing.
	ACLLoad(ctx context.Context) error
	// ACLList is the users' rules, one a line. The lines hold password hashes: never log them.
	ACLList(ctx context.Context) ([]string, error)
	ACLWhoAmI(ctx context.Context) (string, error)

	// Shutdown ends the server. It succeeds when the connection is closed by the server.
	Shutdown(ctx context.Context, options ShutdownOptions) error
}

// FailoverRequest is the arguments of the data node's FAILOVER command.
type FailoverRequest struct {
	// To is the replica to promote. Zero: the one with the best offset.
	To Address
	// Timeout bounds how long writes may be paused while To catches up. Zero: no bound.
	Timeout time.Duration
	// Force promotes To at the end of Timeout even if it has not caught up; needs To and Timeout.
	Force bool
}

// ShutdownOptions is the arguments of SHUTDOWN.
type ShutdownOptions struct {
	// NoSave skips the RDB at the end.
	NoSave bool
	// Now does not wait for lagging replicas.
	Now bool
	// Force exits even if the RDB cannot be written.
	Force bool
}

// Connected is one connection to the server.
type Connected struct {
	// User it is logged in as, and Name that it gave itself.
	User, Name string
	// Idle is how long ago the last command came, in whole seconds.
	Idle time.Duration
}

// RoleReport is the answer of ROLE.
type RoleReport struct {
	Role Role
	// Offset is the replication offset; on a replica that never connected it is -1.
	Offset int64
	// Primary is whom a replica follows.
	Primary Address
	// Link is a replica's link state: "connect", "connecting", "sync", "connected" (also "handshake", ...).
	Link string
	// Replicas is what a primary has connected.
	Replicas []ReplicaOffset
}

// ReplicaOffset is one connected replica in a RoleReport.
type ReplicaOffset struct {
	Address Address
	Offset  int64
}

// Replication is the "replication" section of INFO.
type Replication struct {
	Role Role
	// Offset is what a primary has produced, or what a replica has processed.
	Offset int64
	// ReplID and ReplID2 identify the history of the dataset; SecondOffset is up to where ReplID2 holds
	// (-1: nowhere).
	ReplID, ReplID2 string
	SecondOffset    int64
	// FailoverState is "no-failover", "waiting-for-sync" or "failover-in-progress".
	FailoverState string

	// What a replica says. Primary is whom it follows.
	Primary        Address
	LinkUp         bool
	SyncInProgress bool
	// LinkDownFor is how long the link has been down; negative when it is up or never was.
	LinkDownFor time.Duration
	// LastIO is how long ago something came from the primary; negative when it is not linked.
	LastIO   time.Duration
	ReadOnly bool
	// Priority is replica-priority: 0 is never promoted, lower is preferred.
	Priority int

	// WantsReplicas: writes are refused while too few replicas acknowledge (min-replicas-to-write); GoodReplicas counts those that do.
	WantsReplicas bool
	GoodReplicas  int
	// Replicas is what is connected to this server.
	Replicas []ConnectedReplica
}

// ConnectedReplica is one "slaveN" line of INFO.
type ConnectedReplica struct {
	Address Address
	// State is "online" once the replica has its initial copy ("wait_bgsave", "send_bulk", ... before).
	State string
	// Offset is what it has acknowledged.
	Offset int64
	// Lag is the time since its last acknowledgement, in whole seconds.
	Lag time.Duration
}

// Listeners is on which ports a server listens; 0 where it does not.
type Listeners struct {
	Plaintext, TLS int
}

// Status is a look at one data server: one INFO call.
type Status struct {
	Version string
	RunID   string
	// Listeners is where the server listens.
	Listeners Listeners
	Uptime    time.Duration
	// Loading: the dataset is being read from disk; most commands fail with ErrLoading.
	Loading bool
	// Keys counts the keys of all databases.
	Keys int64
	// Clients counts the connections that maxclients limits, replicas included; MaxClients is that limit.
	Clients, MaxClients int64
	Replication         Replication
	Persistence         Persistence
	Memory              Memory
}

// Persistence is what INFO says of RDB and AOF.
type Persistence struct {
	AOFEnabled bool
	// AOFRewriting: a rewrite is wanted or under way, or the last one failed. A file that the server has only just begun to keep is not whole then.
	AOFRewriting bool
	// AOFLastWriteOK and RDBLastSaveOK are false when the last attempt failed (for example a full disk).
	AOFLastWriteOK bool
	RDBLastSaveOK  bool
	// RDBLastSave is when the last RDB was finished, or when the server started.
	RDBLastSave time.Time
	// ChangesSinceSave counts writes since then.
	ChangesSinceSave int64
	// LoadedKeys is how many keys were read from disk at start; negative when there is no such field.
	LoadedKeys int64
}

// Memory is what INFO says of memory, in bytes. Max 0 is no limit.
type Memory struct {
	Used, Max int64
}

// Gets tells whether the replica gets what its primary, which has produced that many bytes, writes. After a full copy a replica is
// "online" up to a second before it does: the stream begins with its first acknowledgement.
func (r ConnectedReplica) Gets(produced int64) bool {
	return r.State == "online" && (r.Offset > 0 || produced == 0)
}
