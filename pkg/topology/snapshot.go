// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package topology

import (
	"strconv"
	"strings"
	"time"
)

// Role is what a member says of itself. Empty: not known.
type Role string

// The roles of a data member.
const (
	RolePrimary Role = "primary"
	RoleReplica Role = "replica"
)

// ReachClass says how an attempt to look at a process ended. Unknown is a value: a process that did not
// answer is neither absent nor in its last known state.
type ReachClass string

// The classes. ReachUnknown, the zero value, means that nobody looked.
const (
	ReachUnknown     ReachClass = ""
	ReachOK          ReachClass = "OK"
	ReachUnreachable ReachClass = "Unreachable"
	ReachTimeout     ReachClass = "Timeout"
	ReachAuth        ReachClass = "AuthFailed"
	ReachPermission  ReachClass = "NotPermitted"
	ReachTLS         ReachClass = "TLSFailed"
	// ReachFull: the server is there, and has as many clients as maxclients allows.
	ReachFull    ReachClass = "TooManyClients"
	ReachLoading ReachClass = "Loading"
	ReachError   ReachClass = "Error"
)

// Reach is how a look ended, why, and when.
type Reach struct {
	Class ReachClass
	// Text is for people; never a secret, never parsed.
	Text string
	// When the look ended.
	When time.Time
}

// OK tells whether the rest of the view may be believed.
func (r Reach) OK() bool { return r.Class == ReachOK }

// Address is a host (a name or an IP, as given or as reported) and a port.
type Address struct {
	Host string
	Port int
}

// IsZero tells whether there is no address.
func (a Address) IsZero() bool { return a == Address{} }

// String is "host:port", with brackets around an IPv6 host, and empty for the zero Address.
func (a Address) String() string {
	if a.IsZero() {
		return ""
	}
	host := a.Host
	if strings.Contains(host, ":") {
		host = "[" + host + "]"
	}
	return host + ":" + strconv.Itoa(a.Port)
}

// Snapshot is one look at one set: the data members of one Valkey and the Sentinels that could monitor it.
type Snapshot struct {
	// Now is when the look was finished.
	Now       time.Time
	Members   []Member
	Sentinels []SentinelView
}

// Listeners is on which ports a server listens; 0 where it does not.
type Listeners struct {
	Plaintext, TLS int
}

// Member is one data server. All below Reach is meaningful only if Reach.OK, except that a Loading member
// answers INFO too and has everything but complete Keys.
type Member struct {
	// Name is the node's name; unique in the snapshot.
	Name string
	// Address is the host name that peers and Sentinels are told to use.
	Address Address
	// Aliases are other hosts under which the same member may be reported: short names, pod IPs.
	Aliases []string
	Reach   Reach

	Role Role
	// Primary is whom a replica follows, as it says itself.
	Primary Address
	// LinkUp: a replica's connection to its primary is established and its copy complete.
	LinkUp bool
	// LinkDownFor is how long the link has been down; negative when up or never up.
	LinkDownFor time.Duration
	// LastIO is how long ago a replica heard from its primary; negative when not linked.
	LastIO time.Duration
	// Syncing: a full copy is being received.
	Syncing bool
	// Offset is produced (primary) or processed (replica) bytes of the replication stream.
	Offset int64
	// ReplID and ReplID2 identify the history; offsets compare only within one history. SecondOffset is up
	// to where ReplID2 holds; -1 nowhere.
	ReplID, ReplID2 string
	SecondOffset    int64
	// Priority is replica-priority: 0 is never promoted, lower is preferred.
	Priority int
	// FailoverState is the data node's own FAILOVER: "no-failover", "waiting-for-sync", ...
	FailoverState string
	// Connected is what this member sees connected to it, with what it has acknowledged.
	Connected []ConnectedReplica

	// Keys counts keys of all databases. A loading member's count is still growing.
	Keys    int64
	Loading bool
	Version string
	RunID   string
	// Listeners is where the server listens.
	Listeners Listeners
	Uptime    time.Duration

	// Full: it takes no more connections. WantsReplicas: it refuses writes because none of its replicas acknowledges, as it was told to by its
	// agent or its configuration.
	Full, WantsReplicas bool

	Persistence Persistence
	Memory      Memory
}

// ConnectedReplica is one replica as its primary sees it.
type ConnectedReplica struct {
	Address Address
	// Online: it has its copy, and gets all that is written since.
	Online bool
	Offset int64
	Lag    time.Duration
}

// Persistence is what a member says of its disk.
type Persistence struct {
	AOFEnabled bool
	// AOFRewriting: a file that it has only just begun to keep is not whole yet.
	AOFRewriting     bool
	AOFLastWriteOK   bool
	RDBLastSaveOK    bool
	ChangesSinceSave int64
}

// Memory in bytes; Max 0 is no limit.
type Memory struct {
	Used, Max int64
}

// SentinelView is what one Sentinel says, kept apart from what the others say.
type SentinelView struct {
	// Name is the pod's name; unique in the snapshot.
	Name    string
	Address Address
	Reach   Reach
	MyID    string
	// Monitors by monitor name. Nil when not reached; empty when it monitors nothing.
	Monitors map[string]MonitorView
}

// MonitorView is one monitor as one Sentinel sees it.
type MonitorView struct {
	Primary     Address
	ConfigEpoch int64
	Quorum      int
	// SubjectDown and ObjectDown: this Sentinel alone, or enough of them, hold the primary for down.
	SubjectDown, ObjectDown bool
	// Disconnected: this Sentinel has no working connection to the primary.
	Disconnected bool
	// FailoverInProgress is seen on the leader only. FailoverState is its stage.
	FailoverInProgress bool
	FailoverState      string
	// NumReplicas and NumOtherSentinels count all that are known, dead ones too.
	NumReplicas, NumOtherSentinels int
	// QuorumOK and QuorumUsable and QuorumMessage are the answer of CKQUORUM.
	QuorumOK      bool
	QuorumUsable  int
	QuorumMessage string
	// ReportedRole is what the process at Primary says of itself to this Sentinel.
	ReportedRole Role
	Flags        []string
	// Settings is what else is set for the monitor ("down-after-milliseconds", ...), by wire name.
	Settings map[string]string
	// Replicas and Peers; nil when they were not asked for.
	Replicas []ReplicaView
	Peers    []PeerView
}

// ReplicaView is one replica as one Sentinel sees it.
type ReplicaView struct {
	Address     Address
	Primary     Address
	LinkUp      bool
	SubjectDown bool
	Priority    int
	Offset      int64
	// InfoRefresh is how long ago this Sentinel got the replica's INFO.
	InfoRefresh time.Duration
	Flags       []string
}

// PeerView is another Sentinel as one Sentinel sees it.
type PeerView struct {
	ID          string
	Address     Address
	SubjectDown bool
}
