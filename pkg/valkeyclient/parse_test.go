// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package valkeyclient

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"
)

// fixtures are answers of real servers, recorded by testdata/capture.sh.
func eachVersion(t *testing.T, test func(t *testing.T, read func(name string) []byte)) {
	t.Helper()
	for _, version := range []string{"8.0", "8.1", "9.1"} {
		t.Run(version, func(t *testing.T) {
			test(t, func(name string) []byte {
				text, err := os.ReadFile(filepath.Join("testdata", version, name))
				if err != nil {
					t.Fatal(err)
				}
				return text
			})
		})
	}
}

// reply is what the library makes of an answer.
func reply(t testing.TB, text []byte) any {
	t.Helper()
	decoder := json.NewDecoder(strings.NewReader(string(text)))
	decoder.UseNumber()
	var value any
	if err := decoder.Decode(&value); err != nil {
		t.Fatal(err)
	}
	return plain(value)
}

func plain(value any) any {
	switch v := value.(type) {
	case json.Number:
		n, err := v.Int64()
		if err != nil {
			return v.String()
		}
		return n
	case []any:
		for i := range v {
			v[i] = plain(v[i])
		}
	case map[string]any:
		for key := range v {
			v[key] = plain(v[key])
		}
	}
	return value
}

var (
	primaryAddress = Address{Host: "127.0.0.1", Port: 7101}
	replicaAddress = Address{Host: "127.0.0.1", Port: 7102}
)

func TestParseRole(t *testing.T) {
	eachVersion(t, func(t *testing.T, read func(string) []byte) {
		primary, err := parseRole(reply(t, read("primary.role.json")))
		if err != nil || primary.Role != RolePrimary || primary.Offset < 1 || len(primary.Replicas) != 1 ||
			primary.Replicas[0].Address != replicaAddress || primary.Replicas[0].Offset < 1 {
			t.Errorf("primary: %+v, %v", primary, err)
		}
		replica, err := parseRole(reply(t, read("replica.role.json")))
		if err != nil || replica.Role != RoleReplica || replica.Primary != primaryAddress || replica.Link != "connected" || replica.Offset < 1 {
			t.Errorf("replica: %+v, %v", replica, err)
		}
		sentinel, err := parseRole(reply(t, read("sentinel.role.json")))
		if err != nil || sentinel.Role != RoleSentinel {
			t.Errorf("sentinel: %+v, %v", sentinel, err)
		}
	})
	for name, bad := range map[string]any{
		"nil": nil, "text": "master", "empty": []any{}, "number": []any{int64(1)}, "unknown": []any{"x", int64(1), []any{}},
		"short primary": []any{"master", int64(1)}, "short replica": []any{"slave", "h", int64(1)},
		"bad offset": []any{"master", "x", []any{}}, "bad replicas": []any{"master", int64(1), "x"}, "bad entry": []any{"master", int64(1), []any{"x"}},
		"bad port": []any{"slave", "h", "x", "connected", int64(1)}, "bad link": []any{"slave", "h", int64(1), int64(1), int64(1)},
	} {
		if got, err := parseRole(bad); !errors.Is(err, ErrUnexpected) {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
	}
}

func TestParseInfo(t *testing.T) {
	eachVersion(t, func(t *testing.T, read func(string) []byte) {
		primary := parseInfo(string(read("primary.info.txt"))).Status()
		if len(primary.RunID) != 40 || primary.Keys != 3 || primary.Loading || primary.Memory.Used == 0 || primary.Memory.Max != 0 ||
			primary.Uptime < time.Second || primary.Persistence.AOFEnabled || !primary.Persistence.AOFLastWriteOK ||
			!primary.Persistence.RDBLastSaveOK || primary.Persistence.ChangesSinceSave != 3 || primary.Persistence.RDBLastSave.Year() < 2024 {
			t.Errorf("primary: %+v", primary)
		}
		replication := primary.Replication
		if replication.Role != RolePrimary || !replication.Primary.IsZero() || len(replication.Replicas) != 1 || replication.Offset < 1 ||
			replication.FailoverState != "no-failover" || replication.SecondOffset != -1 || len(replication.ReplID) != 40 || replication.LastIO >= 0 {
			t.Errorf("primary: %+v", replication)
		}
		if online := replication.Replicas[0]; online.Address != replicaAddress || !online.Gets(replication.Offset) || online.Lag > 5*time.Second || online.Offset < 1 {
			t.Errorf("its replica: %+v", online)
		}
		replica := parseInfo(string(read("replica.info.txt"))).Status()
		if r := replica.Replication; r.Role != RoleReplica || r.Primary != primaryAddress || !r.LinkUp || r.SyncInProgress || r.LinkDownFor >= 0 ||
			r.LastIO < 0 || !r.ReadOnly || r.Priority != 100 || r.Offset < 1 || r.ReplID != replication.ReplID || replica.Keys != 3 {
			t.Errorf("replica: %+v", replica)
		}
	})
}

func TestParseInfoOfTrouble(t *testing.T) {
	status := parseInfo("role:slave\r\nmaster_host:fd00::1\r\nmaster_port:6379\r\nmaster_link_status:down\r\nmaster_link_down_since_seconds:7\r\n" +
		"master_sync_in_progress:1\r\nslave_repl_offset:-1\r\nslave_priority:0\r\nloading:1\r\naof_enabled:1\r\naof_last_write_status:err\r\n" +
		"rdb_last_bgsave_status:err\r\ndb0:keys=5,expires=0,avg_ttl=0\r\ndb15:keys=7,expires=1,avg_ttl=3\r\ndbx:keys=9\r\n" +
		"redis_version:7.2.4\r\n# comment:x\r\nno colon\r\n").Status()
	r := status.Replication
	if r.LinkUp || r.LinkDownFor != 7*time.Second || !r.SyncInProgress || r.Priority != 0 || r.Offset != -1 || r.Primary.String() != "[fd00::1]:6379" ||
		status.Keys != 12 || !status.Loading || !status.Persistence.AOFEnabled || status.Persistence.AOFLastWriteOK || status.Persistence.RDBLastSaveOK ||
		status.Version != "7.2.4" {
		t.Errorf("%+v", status)
	}
	if (ConnectedReplica{State: "online"}).Gets(1) || (ConnectedReplica{State: "send_bulk", Offset: 1}).Gets(1) || !(ConnectedReplica{State: "online"}).Gets(0) {
		t.Error("who gets the stream is not told right")
	}
}

func TestParseSentinel(t *testing.T) {
	eachVersion(t, func(t *testing.T, read func(string) []byte) {
		masters, err := asTextMaps(reply(t, read("masters.json")))
		if err != nil || len(masters) != 1 {
			t.Fatalf("%v, %v", masters, err)
		}
		if m := fields(masters[0]).monitor(); m.Name != "main" || m.Primary != primaryAddress || len(m.RunID) != 40 || !reflect.DeepEqual(m.Flags, Flags{"master"}) ||
			m.FailoverState != "" || m.ConfigEpoch != 0 || m.Quorum != 2 || m.NumReplicas != 1 || m.NumOtherSentinels != 1 || m.RoleReported != RolePrimary ||
			m.DownAfter != 5*time.Second || m.FailoverTimeout != 180*time.Second || m.ParallelSyncs != 1 || m.InfoRefresh <= 0 || m.LastOKPing < 0 {
			t.Errorf("%+v", m)
		}
		replicas, err := asTextMaps(reply(t, read("replicas.json")))
		if err != nil || len(replicas) != 1 {
			t.Fatalf("%v, %v", replicas, err)
		}
		if r := fields(replicas[0]).replica(); r.Address != replicaAddress || r.Primary != primaryAddress || !r.LinkUp || r.Priority != 100 || r.Offset < 1 ||
			!r.Flags.Has("slave") || r.Flags.Has("s_down") || r.InfoRefresh <= 0 {
			t.Errorf("%+v", r)
		}
		sentinels, err := asTextMaps(reply(t, read("sentinels.json")))
		if err != nil || len(sentinels) != 1 {
			t.Fatalf("%v, %v", sentinels, err)
		}
		if p := fields(sentinels[0]).peer(); len(p.ID) != 40 || p.Address != (Address{Host: "127.0.0.1", Port: 7104}) || !p.Flags.Has("sentinel") {
			t.Errorf("%+v", p)
		}
		if address, err := parsePrimaryAddr(reply(t, read("addr.json"))); err != nil || address != primaryAddress {
			t.Errorf("%v, %v", address, err)
		}
	})
	if _, err := parsePrimaryAddr(nil); !errors.Is(err, ErrNoSuchMonitor) {
		t.Errorf("unknown monitor: %v", err)
	}
	for _, bad := range []any{"x", []any{"h"}, []any{"h", "x"}, []any{int64(1), "1"}} {
		if got, err := parsePrimaryAddr(bad); !errors.Is(err, ErrUnexpected) {
			t.Errorf("%v: %v, %v", bad, got, err)
		}
	}
	flat, err := asTextMap([]any{"name", "main", "quorum", int64(2)})
	if err != nil || !reflect.DeepEqual(flat, map[string]string{"name": "main", "quorum": "2"}) {
		t.Errorf("RESP2: %v, %v", flat, err)
	}
}

func TestParseQuorum(t *testing.T) {
	for text, want := range map[string]QuorumCheck{
		"OK 3 usable Sentinels. Quorum and failover authorization can be reached":                                   {OK: true, Usable: 3},
		"NOQUORUM 1 usable Sentinels. Not enough available Sentinels to reach the specified quorum for this master": {Usable: 1},
		"": {Usable: -1}, "OK": {OK: true, Usable: -1}, "NOQUORUM many": {Usable: -1}, "OK -1 x": {OK: true, Usable: -1},
	} {
		want.Message = text
		if got := parseQuorum(text); got != want {
			t.Errorf("%q: %+v", text, got)
		}
	}
}

func TestParseEvent(t *testing.T) {
	at := func(host string, port int) Address { return Address{Host: host, Port: port} }
	for _, want := range []Event{
		{Kind: EventSwitch, Monitor: "main", Old: at("a", 1), New: at("b", 2), Address: at("b", 2), Text: "main a 1 b 2"},
		{Kind: "+sdown", Monitor: "main", Instance: "master", Address: at("a", 1), Text: "master main a 1"},
		{Kind: "+odown", Monitor: "main", Instance: "master", Address: at("a", 1), Text: "master main a 1 #quorum 2/2"},
		{Kind: "+slave", Monitor: "main", Instance: "slave", Address: at("b", 2), Text: "slave b:2 b 2 @ main a 1"},
		{Kind: "+sentinel", Monitor: "main", Instance: "sentinel", Address: at("s", 3), Text: "sentinel 0123 s 3 @ main a 1"},
		{Kind: "+tilt", Text: "#tilt mode entered"},
		{Kind: "+new-epoch", Text: "7"},
		{Kind: "+slave", Text: "slave b:2 b 2"},
		{Kind: EventSwitch, Text: "too short"},
		{Kind: "", Text: ""},
	} {
		if got := parseEvent(string(want.Kind), want.Text); got != want {
			t.Errorf("%q: %+v", want.Text, got)
		}
	}
}

func FuzzParseInfo(f *testing.F) {
	for _, name := range []string{"primary.info.txt", "replica.info.txt"} {
		text, err := os.ReadFile(filepath.Join("testdata", "9.1", name))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(string(text))
	}
	f.Add("slave0:ip=,port=x\nslave1:\ndb0:\nrole:")
	f.Fuzz(func(t *testing.T, text string) {
		status := parseInfo(text).Status()
		if lines := strings.Count(text, "\n") + 1; len(status.Replication.Replicas) > lines {
			t.Fatalf("%d replicas of %d lines", len(status.Replication.Replicas), lines)
		}
	})
}

func FuzzParseSentinelReplies(f *testing.F) {
	for _, name := range []string{"masters.json", "replicas.json", "sentinels.json", "primary.role.json", "replica.role.json", "addr.json"} {
		text, err := os.ReadFile(filepath.Join("testdata", "9.1", name))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(string(text))
	}
	f.Fuzz(func(t *testing.T, text string) {
		var value any
		if json.Unmarshal([]byte(text), &value) != nil {
			return
		}
		value = plain(value)
		if _, err := parseRole(value); err != nil && !errors.Is(err, ErrUnexpected) {
			t.Fatalf("parseRole: %v", err)
		}
		if _, err := parsePrimaryAddr(value); err != nil && !errors.Is(err, ErrUnexpected) && !errors.Is(err, ErrNoSuchMonitor) {
			t.Fatalf("parsePrimaryAddr: %v", err)
		}
		maps, err := asTextMaps(value)
		if err != nil && !errors.Is(err, ErrUnexpected) {
			t.Fatalf("asTextMaps: %v", err)
		}
		for _, m := range maps {
			_, _, _ = fields(m).monitor(), fields(m).replica(), fields(m).peer()
		}
	})
}

func FuzzParseEvent(f *testing.F) {
	f.Add("+switch-master", "main a 1 b 2")
	f.Add("+slave", "slave b:2 b 2 @ main a 1")
	f.Fuzz(func(t *testing.T, channel, text string) {
		if got := parseEvent(channel, text); got.Text != text || string(got.Kind) != channel {
			t.Fatalf("%+v", got)
		}
	})
}
