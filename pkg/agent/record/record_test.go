// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package record

import (
	"os"
	"path/filepath"
	"reflect"
	"testing"
	"time"

	"github.com/valkeykube/valkeykube/pkg/agent/dataset"
	"github.com/valkeykube/valkeykube/pkg/agent/decision"
	"github.com/valkeykube/valkeykube/pkg/topology"
)

const nobody = "0000000000000000000000000000000000000000"

func primaryOf(id, before string, offset int64) topology.Member {
	return topology.Member{
		Role: topology.RolePrimary, ReplID: id, ReplID2: before, Offset: offset, Keys: 3, Persistence: topology.Persistence{AOFEnabled: true},
	}
}

// The append-only file stands where it was when the server last kept it whole.
func TestLogged(t *testing.T) {
	when, aof := time.Unix(100, 0).UTC(), dataset.Disk{Kind: dataset.KindAOF}
	with := func(m topology.Member, p topology.Persistence) topology.Member { m.Persistence = p; return m }
	kept, begun, off := topology.Persistence{AOFEnabled: true}, topology.Persistence{AOFEnabled: true, AOFRewriting: true}, topology.Persistence{}
	r := Record{Node: "v-0", BootID: "boot"}
	for _, step := range []struct {
		what   string
		member topology.Member
		offset int64 // of the file
		whole  bool
	}{
		{"kept", with(primaryOf("A", nobody, 5), kept), 5, true},
		{"rewritten", with(primaryOf("A", nobody, 6), begun), 6, true},
		{"no longer kept", with(primaryOf("A", nobody, 8), off), 6, false},
		{"long ago", with(primaryOf("A", nobody, 20), off), 6, false},
		{"begun again", with(primaryOf("A", nobody, 21), begun), 6, false},
		{"kept again", with(primaryOf("A", nobody, 22), kept), 22, true},
		{"after a full copy", with(primaryOf("B", nobody, 100), begun), 22, false},
		{"of which a new one is made", with(primaryOf("B", nobody, 101), kept), 101, true},
	} {
		r = r.Seen(step.member, when)
		position, complete := r.OnDisk(aof, "boot")
		if position.Offset != step.offset || complete != step.whole || position.Whole != step.whole || r.IsLogStale() == step.whole {
			t.Errorf("%s: %+v, complete %v", step.what, position, complete)
		}
	}
}

// A file that was given up before the first look is behind all that came since.
func TestLogThatWasNeverSeenToBeKept(t *testing.T) {
	member := primaryOf("A", nobody, 9)
	member.Persistence.AOFEnabled = false
	r := Record{Node: "v-0", BootID: "boot"}.Seen(member, time.Unix(100, 0))
	position, complete := r.OnDisk(dataset.Disk{Kind: dataset.KindAOF, Converts: true}, "boot")
	if complete || position.Compare(decision.Position{ReplID: "A", Offset: 1}) != decision.Behind {
		t.Errorf("%+v, complete %v", position, complete)
	}
}

func TestSeen(t *testing.T) {
	when := time.Unix(100, 0).UTC()
	up := topology.Address{Host: "v-1", Port: 6379}
	r := Record{Node: "v-0", Clean: true}.Seen(primaryOf("A", nobody, 5), when)
	want := Record{Node: "v-0", Role: topology.RolePrimary, Position: decision.Position{ReplID: "A", Offset: 5, When: when}, Keys: 3}
	if !reflect.DeepEqual(r, want) {
		t.Errorf("as primary: %+v", r)
	}
	// A replica that only tries to link keeps what was known of its data.
	r = r.Seen(topology.Member{Role: topology.RoleReplica, Primary: up, ReplID: "random", Offset: 0}, when.Add(1))
	if r.Role != topology.RoleReplica || r.Primary != up || r.Position.ReplID != "A" || r.Keys != 3 {
		t.Errorf("not linked: %+v", r)
	}
	// One that has lost its link has what it last got.
	if got := r.Seen(topology.Member{Role: topology.RoleReplica, Primary: up, ReplID: "A", Offset: 8}, when); got.Position.Offset != 8 {
		t.Errorf("link lost: %+v", got)
	}
	r = r.Seen(topology.Member{Role: topology.RoleReplica, Primary: up, ReplID: "B", ReplID2: nobody, Offset: 9, LinkUp: true, Keys: 4}, when.Add(2))
	if r.Position.ReplID != "B" || !reflect.DeepEqual(r.Position.History, []string{"A"}) || r.Keys != 4 {
		t.Errorf("linked: %+v", r)
	}
	r = r.Seen(primaryOf("C", "B", 10), when.Add(3))
	if !reflect.DeepEqual(r.Position.History, []string{"A", "B"}) {
		t.Errorf("promoted: %+v", r)
	}
	if got := r.Seen(topology.Member{Role: topology.RolePrimary, Loading: true}, when); !reflect.DeepEqual(got, r) {
		t.Errorf("while loading: %+v", got)
	}
}

func TestOnDisk(t *testing.T) {
	at := func(id string, offset int64, history ...string) Record {
		return Record{Position: decision.Position{ReplID: id, Offset: offset, History: history}, BootID: "boot"}
	}
	clean := func(r Record) Record { r.Clean = true; return r }
	whole := func(p decision.Position) decision.Position { p.Whole = true; return p }
	primary := func(r Record) Record { r.Role = topology.RolePrimary; return r }
	rdb := func(id string, offset int64) dataset.Disk {
		return dataset.Disk{Kind: dataset.KindRDB, ReplID: id, Offset: offset}
	}
	aof := dataset.Disk{Kind: dataset.KindAOF}
	cases := map[string]struct {
		record       *Record
		disk         dataset.Disk
		boot         string
		want         decision.Position
		wantComplete bool
	}{
		"nothing":                      {record: new(at("A", 5)), disk: dataset.Disk{}},
		"no record":                    {disk: rdb("A", 5), want: decision.Position{ReplID: "A", Offset: 5}},
		"a snapshot after a clean end": {record: new(clean(at("B", 5, "A"))), disk: rdb("B", 6), want: decision.Position{ReplID: "B", Offset: 6, History: []string{"A"}}, wantComplete: true},
		"a snapshot after a crash":     {record: new(at("B", 5, "A")), disk: rdb("B", 6), boot: "boot", want: decision.Position{ReplID: "B", Offset: 6, History: []string{"A"}}},
		"a snapshot that is older than a clean end":    {record: new(clean(at("B", 5))), disk: rdb("B", 4), want: decision.Position{ReplID: "B", Offset: 4}},
		"a snapshot of an earlier history":             {record: new(clean(at("C", 5, "A", "B"))), disk: rdb("B", 99), want: decision.Position{ReplID: "B", Offset: 99, History: []string{"A"}}},
		"a snapshot without a position":                {record: new(clean(at("B", 5, "A"))), disk: rdb("", 0), want: decision.Position{}},
		"a log after a crash":                          {record: new(at("B", 5, "A")), disk: aof, boot: "boot", want: at("B", 5, "A").Position, wantComplete: true},
		"a log after a crash of the machine":           {record: new(at("B", 5, "A")), disk: aof, boot: "other", want: at("B", 5, "A").Position},
		"a primary's log after a crash":                {record: new(primary(at("B", 5))), disk: aof, boot: "boot", want: whole(at("B", 5).Position), wantComplete: true},
		"a primary's log after a crash of the machine": {record: new(primary(at("B", 5))), disk: aof, boot: "other", want: at("B", 5).Position},
		"a primary's snapshot after a clean end":       {record: new(clean(primary(at("B", 5)))), disk: rdb("B", 5), want: whole(at("B", 5).Position), wantComplete: true},
		"a log after a clean end":                      {record: new(clean(at("B", 5))), disk: aof, boot: "other", want: at("B", 5).Position, wantComplete: true},
	}
	for name, test := range cases {
		t.Run(name, func(t *testing.T) {
			got, complete := test.record.OnDisk(test.disk, test.boot)
			if !reflect.DeepEqual(got, test.want) || complete != test.wantComplete {
				t.Errorf("got %+v, complete %v", got, complete)
			}
		})
	}
}

func TestSaveAndLoad(t *testing.T) {
	file := filepath.Join(t.TempDir(), "record.json")
	if r, err := Load(file, "v-0"); r != nil || err != nil {
		t.Errorf("no file: %v, %v", r, err)
	}
	want := Record{Node: "v-0", Clean: true, BootID: BootID()}.Seen(primaryOf("A", nobody, 5), time.Unix(7, 0))
	if err := want.Save(file); err != nil {
		t.Fatal(err)
	}
	if r, err := Load(file, "v-0"); err != nil || !reflect.DeepEqual(*r, want) {
		t.Errorf("got %+v, %v", r, err)
	}
	if r, err := Load(file, "v-1"); r != nil || err != nil {
		t.Errorf("another's: %v, %v", r, err)
	}
	if err := os.WriteFile(file, []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Load(file, "v-0"); err == nil {
		t.Error("a damaged file is no error")
	}
	if err := want.Save(filepath.Join(file, "below a file")); err == nil {
		t.Error("a place that cannot be written to is no error")
	}
}
