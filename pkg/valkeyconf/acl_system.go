// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package valkeyconf

import (
	"slices"

	"github.com/valkeykube/valkeykube/pkg/naming"
)

// handOver is what package operation does at data nodes in a planned hand-over. CONFIG SET is among it because Sentinel
// lets itself be told whom to promote by replica-priority only; protected settings (dir, dbfilename) stay protected.
var handOver = []string{
	"+ping", "+role", "+info", "+dbsize", "+acl|whoami", "+replicaof",
	"+client|pause", "+client|unpause", "+client|kill", "+config|set",
}

// lookAtMonitors is what reads of a Sentinel's view need, and a client library to find the primary.
var lookAtMonitors = []string{
	"+ping", "+role", "+info", "+sentinel|myid", "+sentinel|masters", "+sentinel|master", "+sentinel|replicas",
	"+sentinel|slaves", "+sentinel|sentinels", "+sentinel|get-master-addr-by-name", "+sentinel|ckquorum",
}

// nodeUsers are the rules on data nodes. Commands that are needed before a login (HELLO, AUTH) are always allowed.
// Measured on 8.0, 8.1 and 9.1: see the comments where taking away a command breaks something silently.
var nodeUsers = map[string][]string{
	naming.UserOperator: join(handOver, "+config|get", "+config|rewrite", "+config|resetstat", "+acl|load", "+acl|list", "+acl|log",
		"+client|list", "+shutdown", "+failover"),
	// PSYNC would register as a replica; a snapshot is taken with REPLCONF rdb-only and SYNC.
	naming.UserAPIServer: join(handOver, "+sync", "+replconf"),
	// client|list shows whether the controller is connected: see package fence of the agent. acl|load brings back users that were changed by
	// hand, the controller's among them.
	naming.UserAgent: join(handOver, "+shutdown", "+client|list", "+acl|list", "+acl|load"),
	// Without replconf a link is up but acknowledges nothing; without sync a full copy over two channels never ends.
	naming.UserReplication: {"+psync", "+sync", "+replconf", "+ping"},
	// Without exactly these something breaks, often silently: no promotion, an old primary never demoted, Sentinels that
	// do not find each other. It is slaveof that Sentinel sends. The last three are for 9's coordinated failover.
	naming.UserSentinel: {
		"&__sentinel__:hello", "+multi", "+exec", "+slaveof", "+ping", "+subscribe", "+publish", "+config|rewrite", "+role", "+info",
		"+client|setname", "+client|kill", "+script|kill", "+failover", "+client|pause", "+client|unpause",
	},
	// No CONFIG GET: it shows the replication password. The exporter is told not to ask (--config-command=-).
	naming.UserExporter: {
		"+ping", "+info", "+dbsize", "+select", "+client|setname", "+client|setinfo", "+slowlog|get", "+slowlog|len",
		"+latency|latest", "+latency|histogram", "+cluster|info",
	},
}

// sentinelUsers are the rules on Sentinels.
var sentinelUsers = map[string][]string{
	naming.UserOperator: {"&*", "+ping", "+role", "+info", "+acl|whoami", "+acl|load", "+psubscribe", "+subscribe", "+unsubscribe",
		"+punsubscribe", "+client|list", "+client|kill", "+sentinel"},
	// sentinel|debug shortens the time between two INFOs while a hand-over waits for the right moment.
	// sentinel|set lets a Sentinel choose a replica that has been without a primary for too long, on request.
	naming.UserAPIServer: join(lookAtMonitors, "&*", "+acl|whoami", "+psubscribe", "+subscribe", "+sentinel|failover", "+sentinel|debug", "+sentinel|set"),
	naming.UserAgent:     join(lookAtMonitors, "&*", "+acl|whoami", "+psubscribe", "+subscribe", "+sentinel|failover", "+sentinel|debug"),
	// Without publish or is-master-down-by-addr no failover ever happens, while everything looks well.
	// sentinel|masters and sentinel|debug are for the Sentinel's own agent, which lets it finish its failovers before it ends, and sets how often
	// it asks.
	naming.UserPeer: {"&__sentinel__:hello", "+ping", "+publish", "+client|setname", "+sentinel|is-master-down-by-addr", "+sentinel|masters",
		"+sentinel|debug"},
	naming.UserExporter: join(lookAtMonitors, "+client|setname", "+client|setinfo"),
}

func join(rules []string, more ...string) []string { return append(slices.Clone(rules), more...) }

// NodeUser is one of the product's own users on data nodes; false if it has no such name. It is on and logs in with the
// passwords of the hashes (two while one is replaced).
func NodeUser(name string, hashes ...string) (User, bool) { return systemUser(nodeUsers, name, hashes) }

// SentinelUser is one of the product's own users on Sentinels; false if it has no such name.
func SentinelUser(name string, hashes ...string) (User, bool) {
	return systemUser(sentinelUsers, name, hashes)
}

func systemUser(users map[string][]string, name string, hashes []string) (User, bool) {
	rules, known := users[name]
	return User{Name: name, Enabled: true, PasswordHashes: hashes, Rules: join([]string{"-@all"}, rules...)}, known
}

// OpenNodeDefault is the default user of a data node for which nobody declared users: open, without a password, for all
// keys and channels and all commands that work on them, but for no administration (CONFIG, ACL, REPLICAOF, SHUTDOWN, ...)
// and no command the server calls dangerous (FLUSHALL, MONITOR, DEBUG, ...), except what clients and people commonly send:
// INFO, ROLE, KEYS, SORT.
func OpenNodeDefault() User {
	return User{Name: DefaultUser, Enabled: true, NoPass: true, Rules: []string{
		"~*", "&*", "+@all", "-@admin", "-@dangerous", "+info", "+role", "+keys", "+sort", "+sort_ro",
	}}
}

// OpenSentinelDefault is the default user of a Sentinel for which nobody declared users: open for what a client library
// needs to find and follow the primary, and nothing that changes anything.
func OpenSentinelDefault() User {
	return User{Name: DefaultUser, Enabled: true, NoPass: true, Rules: join(append([]string{"-@all"}, lookAtMonitors...),
		"&*", "+subscribe", "+unsubscribe", "+psubscribe", "+punsubscribe", "+client|setname", "+client|setinfo", "+client|id",
		"+client|getname", "+client|tracking", "+command", "+hello", "+auth")}
}

// ClosedDefault is the default user once users are declared and "default" is not among them.
func ClosedDefault() User { return User{Name: DefaultUser, Rules: []string{"-@all"}} }
