// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"fmt"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/valkeykube/valkeykube/pkg/apis/valkey/v1alpha1"
	"github.com/valkeykube/valkeykube/pkg/boot"
	"github.com/valkeykube/valkeykube/pkg/topology"
)

func at(name string) topology.Address { return topology.Address{Host: name + ".example", Port: 6379} }

func member(name string, role topology.Role, follows string, change ...func(*topology.Member)) topology.Member {
	m := topology.Member{Name: name, Address: at(name), Reach: topology.Reach{Class: topology.ReachOK}, Role: role}
	if follows != "" {
		m.Primary, m.LinkUp = at(follows), true
	}
	for _, c := range change {
		c(&m)
	}
	return m
}

func reach(class topology.ReachClass) func(*topology.Member) {
	return func(m *topology.Member) { m.Reach.Class = class }
}

func TestRealPrimary(t *testing.T) {
	const primary, replica = topology.RolePrimary, topology.RoleReplica
	for name, c := range map[string]struct {
		members []topology.Member
		want    string
		why     string
	}{
		"the only primary":                {[]topology.Member{member("a", primary, ""), member("b", replica, "a")}, "a", ""},
		"the first of the nodes to come":  {[]topology.Member{member("a", primary, ""), member("b", "", "", reach(topology.ReachUnreachable))}, "a", ""},
		"nobody answers":                  {[]topology.Member{member("a", "", "", reach(topology.ReachTimeout))}, "", "no node can be reached yet"},
		"only replicas answer":            {[]topology.Member{member("a", "", "", reach(topology.ReachTimeout)), member("b", replica, "a")}, "", "no node that can be reached is primary"},
		"two primaries":                   {[]topology.Member{member("a", primary, ""), member("b", primary, "")}, "", "more than one primary: a, b"},
		"one that is loading":             {[]topology.Member{member("a", primary, "", reach(topology.ReachLoading))}, "", "node a reads its dataset"},
		"a replica follows somebody else": {[]topology.Member{member("a", primary, ""), member("b", replica, "c"), member("c", "", "", reach(topology.ReachTimeout))}, "", "a is primary, and b follows c.example:6379 with its link up"},
		"a replica of a replica":          {[]topology.Member{member("a", primary, ""), member("b", replica, "a"), member("c", replica, "b")}, "a", ""},
		"a replica that lost somebody":    {[]topology.Member{member("a", primary, ""), member("b", replica, "c", func(m *topology.Member) { m.LinkUp = false })}, "a", ""},
		"a replica that names it by its IP": {[]topology.Member{
			member("a", primary, "", func(m *topology.Member) { m.Aliases = []string{"10.0.0.1"} }),
			member("b", replica, "a", func(m *topology.Member) { m.Primary.Host = "10.0.0.1" })}, "a", ""},
	} {
		t.Run(name, func(t *testing.T) {
			got, why := realPrimary(&Valkey{Members: c.members}, nil)
			want := topology.Address{}
			if c.want != "" {
				want = at(c.want)
			}
			if got != want || why != c.why {
				t.Errorf("got %s, %q, want %s, %q", got, why, want, c.why)
			}
		})
	}
}

func TestWithoutALookOnlyAnAgreedNodeCounts(t *testing.T) {
	valkey := &Valkey{Nodes: []boot.Endpoint{{Name: "a", Host: "a.example", Port: 6379}}}
	say := func(names ...string) []held {
		var views []held
		for i, name := range names {
			views = append(views, held{index: i, view: topology.MonitorView{Primary: at(name)}})
		}
		return views
	}
	for _, c := range []struct {
		views []held
		want  topology.Address
	}{{say("a", "a"), at("a")}, {say("a", "b"), topology.Address{}}, {say("stranger"), topology.Address{}}, {nil, topology.Address{}}} {
		if got, _ := realPrimary(valkey, c.views); got != c.want {
			t.Errorf("%d views: got %s, want %s", len(c.views), got, c.want)
		}
	}
}

func TestIsNodeAddress(t *testing.T) {
	d := &draft{Observed: Observed{Set: &v1alpha1.ValkeySentinel{ObjectMeta: metav1.ObjectMeta{Namespace: "ns"}}}}
	d.Environment.DNS.ClusterDomain = "cluster.local"
	for host, want := range map[string]bool{
		"valkey-a-0-0.valkey-a-0.ns.svc.cluster.local":         true,
		"valkey-gone-12-0.valkey-gone-12.ns.svc.cluster.local": true,
		"valkey-a-0-0.valkey-a-0.other.svc.cluster.local":      false,
		"valkey-a-0-0.valkey-a-1.ns.svc.cluster.local":         false,
		"valkey-a-0-0.valkey-a-0.ns.svc.example.org":           false,
		"valkey-a-0-0":   false,
		"db.example.org": false,
		"10.0.0.1":       false,
		"":               false,
	} {
		if got := d.isNodeAddress(topology.Address{Host: host, Port: 6379}); got != want {
			t.Errorf("isNodeAddress(%q) = %v", host, got)
		}
	}
}

func TestLearn(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	key := Key{Run: "r", Monitor: "m"}
	observed := Observed{
		Now:       now,
		Sentinels: []Sentinel{{Run: "r", View: topology.SentinelView{Reach: topology.Reach{Class: topology.ReachOK}}}},
		Memory:    Memory{key: {Credentials: "old", Hidden: map[string]string{"h": "1"}}, {Run: "gone", Monitor: "m"}: {Credentials: "old"}},
	}
	for name, c := range map[string]struct {
		outcome Outcome
		want    string
	}{
		"nothing":           {Outcome{Action: Reset{}}, `{old false map[h:1] map[]}`},
		"credentials":       {Outcome{Action: SetCredentials{Run: "r", Monitor: "m", Hash: "new"}}, `{new true map[h:1] map[]}`},
		"credentials lost":  {Outcome{Action: SetCredentials{Run: "r", Monitor: "m", Hash: "new"}, Err: errRefused}, `{old false map[h:1] map[]}`},
		"registered":        {Outcome{Action: Register{Run: "r", Monitor: "m"}}, `{ false map[] map[]}`},
		"a hidden setting":  {Outcome{Action: SetSetting{Run: "r", Monitor: "m", Key: "h", Value: "2", Hidden: true}}, `{old false map[h:2] map[]}`},
		"a shown setting":   {Outcome{Action: SetSetting{Run: "r", Monitor: "m", Key: "h", Value: "2"}}, `{old false map[h:1] map[]}`},
		"a refused setting": {Outcome{Action: SetSetting{Run: "r", Monitor: "m", Key: "k", Value: "v"}, Err: errRefused, Refused: "no"}, `{old false map[h:1] map[k v:no]}`},
		"a skipped setting": {Outcome{Action: SetSetting{Run: "r", Monitor: "m", Key: "h", Value: "2", Hidden: true}, Skipped: true}, `{old false map[h:1] map[]}`},
	} {
		t.Run(name, func(t *testing.T) {
			learned := Learn(observed, Plan{}, []Outcome{c.outcome})
			record := learned[key]
			if got := fmt.Sprint(struct {
				Credentials     string
				Confirmed       bool
				Hidden, Refused map[string]string
			}{record.Credentials, record.Confirmed, record.Hidden, record.Refused}); got != c.want {
				t.Errorf("got %s, want %s", got, c.want)
			}
			if len(learned) != 1 {
				t.Errorf("a process that is gone is remembered: %v", learned)
			}
		})
	}
	observed.Sentinels = append(observed.Sentinels, Sentinel{View: topology.SentinelView{Reach: topology.Reach{Class: topology.ReachTimeout}}})
	if learned := Learn(observed, Plan{}, nil); len(learned) != 2 {
		t.Errorf("one that may be silent only was forgotten: %v", learned)
	}
}
