// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package valkeyconf

import (
	"slices"
	"strconv"
	"strings"
)

// fixedKeys cannot be changed by CONFIG SET in any version from 8.0 to 9.1 (config.c, IMMUTABLE_CONFIG), or are protected
// (dir, dbfilename), or are no settings but instructions to the reader of the file.
var fixedKeys = []string{
	"aclfile", "always-show-logo", "appenddirname", "appendfilename", "aof-rewrite-cpulist", "bgsave-cpulist", "bio-cpulist",
	"server-cpulist", "aof_rewrite_cpulist", "bgsave_cpulist", "bio_cpulist", "server_cpulist", "cluster-config-file",
	"cluster-enabled", "cluster-port", "daemonize", "databases", "dbfilename", "dir", "disable-thp", "enable-debug-command",
	"enable-module-command", "enable-protected-configs", "include", "loadmodule", "logfile", "pidfile", "rdbchecksum",
	"rename-command", "replicaof", "set-proc-title", "socket-mark-id", "supervised", "syslog-enabled", "syslog-facility",
	"syslog-ident", "tcp-backlog", "unixsocket", "unixsocketgroup", "unixsocketperm", "user",
}

// fixedIn are keys that are fixed in some versions only: from the first up to, not including, the second.
var fixedIn = map[string][2]int{
	"io-threads-do-reads":    {0, 801},
	"io-threads":             {0, 901},
	"rdma-completion-vector": {801, 1 << 30},
	"rdma-rx-size":           {801, 1 << 30},
	"cluster-databases":      {900, 1 << 30},
	"hash-seed":              {900, 1 << 30},
	"mptcp":                  {900, 1 << 30},
	"repl-mptcp":             {900, 1 << 30},
}

// FixedAtRuntime tells whether a change of the key needs a restart of a server of that version ("8.1", "8.1.1"). Of a
// version that cannot be read all keys that are fixed anywhere are.
func FixedAtRuntime(version, key string) bool {
	key = Canonical(key)
	if slices.Contains(fixedKeys, key) {
		return true
	}
	span, some := fixedIn[key]
	number, known := versionNumber(version)
	return some && (!known || number >= span[0] && number < span[1])
}

// versionNumber makes 801 of "8.1.1".
func versionNumber(version string) (int, bool) {
	parts := strings.SplitN(version, ".", 3)
	if len(parts) < 2 {
		return 0, false
	}
	major, err1 := strconv.Atoi(parts[0])
	minor, err2 := strconv.Atoi(parts[1])
	return major*100 + minor, err1 == nil && err2 == nil
}
