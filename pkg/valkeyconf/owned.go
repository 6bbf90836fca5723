// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package valkeyconf

import "strings"

// ownedNodeKeys are the keys of valkey.conf that users cannot set, by canonical name, with the reason.
var ownedNodeKeys = map[string]string{
	"port":                      reasonNetwork,
	"bind":                      reasonNetwork,
	"bind-source-addr":          reasonNetwork,
	"protected-mode":            reasonNetwork,
	"unixsocket":                reasonNetwork,
	"unixsocketperm":            reasonNetwork,
	"unixsocketgroup":           reasonNetwork,
	"rdma-port":                 reasonNetwork,
	"rdma-bind":                 reasonNetwork,
	"dir":                       reasonFiles,
	"dbfilename":                reasonFiles,
	"appenddirname":             reasonFiles,
	"appendfilename":            reasonFiles,
	"aclfile":                   reasonFiles,
	"include":                   reasonFiles,
	"pidfile":                   reasonFiles,
	"logfile":                   "logs go to the container's standard output",
	"syslog-enabled":            "logs go to the container's standard output",
	"syslog-ident":              "logs go to the container's standard output",
	"syslog-facility":           "logs go to the container's standard output",
	"appendonly":                "set by spec.persistence.mode",
	"replicaof":                 reasonReplication,
	"primaryuser":               reasonReplication,
	"primaryauth":               reasonReplication,
	"replica-announce-ip":       reasonReplication,
	"replica-announce-port":     reasonReplication,
	"replica-announced":         reasonReplication,
	"replica-read-only":         "what is written to a replica is lost",
	"requirepass":               "use spec.users",
	"user":                      "use spec.users",
	"rename-command":            "the product needs the commands under their names; use spec.users to forbid them",
	"daemonize":                 reasonProcess,
	"supervised":                reasonProcess,
	"shutdown-on-sigterm":       reasonProcess,
	"shutdown-on-sigint":        reasonProcess,
	"enable-protected-configs":  "protects the location of the data",
	"cluster-enabled":           reasonCluster,
	"cluster-config-file":       reasonCluster,
	"cluster-port":              reasonCluster,
	"cluster-announce-ip":       reasonCluster,
	"cluster-announce-port":     reasonCluster,
	"cluster-announce-bus-port": reasonCluster,
	"cluster-announce-tls-port": reasonCluster,
	"cluster-announce-hostname": reasonCluster,
}

const (
	reasonNetwork     = "the product decides where the server listens"
	reasonFiles       = "the product decides where files are"
	reasonReplication = "the product decides who replicates from whom, and as whom"
	reasonProcess     = "the agent runs the server"
	reasonCluster     = "a Valkey is not a cluster"
	reasonTLS         = "set by spec.networking.tls"
	reasonMonitor     = "the product decides what is monitored, and as whom"
	reasonIdentity    = "the product decides the Sentinels' identities and addresses"
	reasonScripts     = "scripts would have to be in the image, and would run with the Sentinel's rights"
)

// freeTLSKeys tune TLS and are left to users.
var freeTLSKeys = map[string]bool{
	"tls-protocols": true, "tls-ciphers": true, "tls-ciphersuites": true, "tls-prefer-server-ciphers": true,
	"tls-session-caching": true, "tls-session-cache-size": true, "tls-session-cache-timeout": true,
}

// OwnedByNode tells whether a key of a data node's configuration is the product's own, and why, for people.
func OwnedByNode(key string) (reason string, owned bool) {
	key = Canonical(key)
	if strings.HasPrefix(key, "tls-") && !freeTLSKeys[key] {
		return reasonTLS, true
	}
	reason, owned = ownedNodeKeys[key]
	return reason, owned
}

// ownedSentinelKeys are the process-wide keys of sentinel.conf that users cannot set, beyond those that are owned on
// data nodes too; without the word "sentinel".
var ownedSentinelKeys = map[string]string{
	"monitor":                reasonMonitor,
	"auth-user":              reasonMonitor,
	"auth-pass":              reasonMonitor,
	"known-replica":          reasonMonitor,
	"known-sentinel":         reasonMonitor,
	"config-epoch":           reasonMonitor,
	"leader-epoch":           reasonMonitor,
	"current-epoch":          reasonMonitor,
	"rename-command":         reasonMonitor,
	"myid":                   reasonIdentity,
	"announce-ip":            reasonIdentity,
	"announce-port":          reasonIdentity,
	"announce-hostnames":     reasonIdentity,
	"resolve-hostnames":      reasonIdentity,
	"sentinel-user":          reasonIdentity,
	"sentinel-pass":          reasonIdentity,
	"deny-scripts-reconfig":  reasonScripts,
	"notification-script":    reasonScripts,
	"client-reconfig-script": reasonScripts,
	// Settings of a monitor have no meaning for the process.
	"quorum":                           "set by the Valkey's spec.failover.sentinel.quorum",
	"down-after-milliseconds":          "a setting of a monitor: set it in the Valkey's spec.failover.sentinel.config",
	"failover-timeout":                 "a setting of a monitor: set it in the Valkey's spec.failover.sentinel.config",
	"parallel-syncs":                   "a setting of a monitor: set it in the Valkey's spec.failover.sentinel.config",
	"primary-reboot-down-after-period": "a setting of a monitor: set it in the Valkey's spec.failover.sentinel.config",
}

// OwnedBySentinel tells whether a key of the Sentinels' process-wide configuration is the product's own, and why.
func OwnedBySentinel(key string) (reason string, owned bool) {
	key = Canonical(withoutSentinel(key))
	if reason, owned = ownedSentinelKeys[key]; owned {
		return reason, true
	}
	return OwnedByNode(key)
}

// OwnedByMonitor tells whether a key of a monitor's settings is the product's own, and why.
func OwnedByMonitor(key string) (reason string, owned bool) {
	switch key = Canonical(withoutSentinel(key)); key {
	case "quorum":
		return "set by spec.failover.sentinel.quorum", true
	case "auth-user", "auth-pass", "monitor", "known-replica", "known-sentinel", "config-epoch", "leader-epoch", "rename-command":
		return reasonMonitor, true
	case "notification-script", "client-reconfig-script":
		return reasonScripts, true
	}
	return "", false
}
