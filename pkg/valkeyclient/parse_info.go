// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package valkeyclient

import (
	"strconv"
	"strings"
	"time"
)

// Info is a parsed INFO reply: all fields of the asked sections, by name.
type Info map[string]string

// parseInfo reads "name:value" lines and ignores headers and blank lines.
func parseInfo(text string) Info {
	info := Info{}
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\r\n")
		if name, value, ok := strings.Cut(line, ":"); ok && !strings.HasPrefix(line, "#") {
			info[name] = value
		}
	}
	return info
}

// Int is the field as a number, or missing when it is absent or none.
func (i Info) Int(field string, missing int64) int64 {
	n, err := strconv.ParseInt(i[field], 10, 64)
	if err != nil {
		return missing
	}
	return n
}

func (i Info) seconds(field string) time.Duration {
	return seconds(i.Int(field, -1))
}

// seconds keeps the meaning "none" of negative numbers.
func seconds(n int64) time.Duration {
	if n < 0 {
		return -1
	}
	return time.Duration(n) * time.Second
}

// Replication is the "replication" section.
func (i Info) Replication() Replication {
	r := Replication{
		Role:           roleOf(i["role"]),
		Offset:         i.Int("master_repl_offset", 0),
		ReplID:         i["master_replid"],
		ReplID2:        i["master_replid2"],
		SecondOffset:   i.Int("second_repl_offset", -1),
		FailoverState:  i["master_failover_state"],
		SyncInProgress: i["master_sync_in_progress"] == "1",
		LinkUp:         i["master_link_status"] == "up",
		LinkDownFor:    i.seconds("master_link_down_since_seconds"),
		LastIO:         i.seconds("master_last_io_seconds_ago"),
		ReadOnly:       i["slave_read_only"] == "1",
		Priority:       int(i.Int("slave_priority", 100)),
		Replicas:       i.connectedReplicas(),
	}
	_, r.WantsReplicas = i["min_slaves_good_slaves"]
	r.GoodReplicas = int(i.Int("min_slaves_good_slaves", 0))
	if r.Role == RoleReplica {
		r.Primary = Address{Host: i["master_host"], Port: int(i.Int("master_port", 0))}
		r.Offset = i.Int("slave_repl_offset", r.Offset)
	}
	return r
}

// connectedReplicas reads "slave0:ip=..,port=..,state=online,offset=..,lag=..,type=replica". A host never
// holds a comma.
func (i Info) connectedReplicas() []ConnectedReplica {
	var replicas []ConnectedReplica
	for n := 0; ; n++ {
		line, ok := i["slave"+strconv.Itoa(n)]
		if !ok {
			return replicas
		}
		fields := Info{}
		for pair := range strings.SplitSeq(line, ",") {
			name, value, _ := strings.Cut(pair, "=")
			fields[name] = value
		}
		replicas = append(replicas, ConnectedReplica{
			Address: Address{Host: fields["ip"], Port: int(fields.Int("port", 0))},
			State:   fields["state"],
			Offset:  fields.Int("offset", 0),
			Lag:     fields.seconds("lag"),
		})
	}
}

// Status is the sections server, clients, replication, persistence, keyspace and memory together.
func (i Info) Status() Status {
	version := i["valkey_version"]
	if version == "" {
		version = i["redis_version"]
	}
	replication := i.Replication()
	return Status{
		Version:     version,
		RunID:       i["run_id"],
		Listeners:   i.listeners(),
		Uptime:      i.seconds("uptime_in_seconds"),
		Loading:     i["loading"] == "1",
		Keys:        i.keys(),
		Clients:     i.Int("connected_clients", 0) + int64(len(replication.Replicas)),
		MaxClients:  i.Int("maxclients", 0),
		Replication: replication,
		Persistence: Persistence{
			AOFEnabled:       i["aof_enabled"] == "1",
			AOFRewriting:     i["aof_rewrite_in_progress"] == "1" || i["aof_rewrite_scheduled"] == "1" || i["aof_last_bgrewrite_status"] == "err",
			AOFLastWriteOK:   i["aof_last_write_status"] != "err",
			RDBLastSaveOK:    i["rdb_last_bgsave_status"] != "err",
			RDBLastSave:      time.Unix(i.Int("rdb_last_save_time", 0), 0),
			ChangesSinceSave: i.Int("rdb_changes_since_last_save", 0),
			LoadedKeys:       i.Int("rdb_last_load_keys_loaded", -1),
		},
		Memory: Memory{Used: i.Int("used_memory", 0), Max: i.Int("maxmemory", 0)},
	}
}

// listeners reads "listener0:name=tcp,bind=*,bind=-::*,port=6379". One that is closed has no port.
func (i Info) listeners() Listeners {
	var open Listeners
	for name, value := range i {
		if !strings.HasPrefix(name, "listener") {
			continue
		}
		fields := Info{}
		for pair := range strings.SplitSeq(value, ",") {
			name, value, _ := strings.Cut(pair, "=")
			fields[name] = value
		}
		switch port := int(fields.Int("port", 0)); fields["name"] {
		case "tcp":
			open.Plaintext = port
		case "tls":
			open.TLS = port
		}
	}
	return open
}

// keys sums "dbN:keys=..,expires=..,avg_ttl=..".
func (i Info) keys() int64 {
	var sum int64
	for name, value := range i {
		number, isDB := strings.CutPrefix(name, "db")
		if _, err := strconv.Atoi(number); !isDB || err != nil {
			continue
		}
		first, _, _ := strings.Cut(value, ",")
		if count, ok := strings.CutPrefix(first, "keys="); ok {
			n, _ := strconv.ParseInt(count, 10, 64)
			sum += n
		}
	}
	return sum
}

// roleOf turns the wire's words, old and new, into ours; an unknown word is the empty Role.
func roleOf(word string) Role {
	switch word {
	case "master", "primary":
		return RolePrimary
	case "slave", "replica":
		return RoleReplica
	case "sentinel":
		return RoleSentinel
	}
	return ""
}

// parseClients reads lines of "id=3 addr=.. name=.. idle=0 user=default ..."; no value holds a blank. RESP3 says first of what format the text is.
func parseClients(text string) []Connected {
	var clients []Connected
	for line := range strings.Lines(strings.TrimPrefix(text, "txt:")) {
		fields := Info{}
		for pair := range strings.FieldsSeq(line) {
			name, value, _ := strings.Cut(pair, "=")
			fields[name] = value
		}
		if fields["id"] != "" {
			clients = append(clients, Connected{User: fields["user"], Name: fields["name"], Idle: fields.seconds("idle")})
		}
	}
	return clients
}
