// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package node

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/valkeykube/valkeykube/pkg/agent/certificate"
	"github.com/valkeykube/valkeykube/pkg/agent/dataset"
	"github.com/valkeykube/valkeykube/pkg/agent/decision"
	"github.com/valkeykube/valkeykube/pkg/agent/probe"
	"github.com/valkeykube/valkeykube/pkg/boot"
	"github.com/valkeykube/valkeykube/pkg/naming"
	"github.com/valkeykube/valkeykube/pkg/topology"
)

// place lays out the mounts of a pod. Files are given as "dir/name": content.
func place(t *testing.T, files map[string]string) Options {
	t.Helper()
	dir := t.TempDir()
	for name, content := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return Options{
		Node: "v-0", ConfigDir: filepath.Join(dir, "config"), ACLDir: filepath.Join(dir, "acl"), PasswordsDir: filepath.Join(dir, "passwords"),
		DataDir: "/data",
	}.withDefaults()
}

func render(t *testing.T, o Options, l launch) []string {
	t.Helper()
	base, err := o.baseConfig()
	if err != nil {
		t.Fatal(err)
	}
	l.self = boot.Endpoint{Name: "v-0", Host: "v-0.svc", Port: 6379}
	if l.listening == nil {
		l.listening = (&certificate.Store{}).Listening(nil, l.self.Port)
	}
	text, err := o.render(base, l)
	if err != nil {
		t.Fatal(err)
	}
	return strings.Split(strings.TrimSpace(text), "\n")
}

func TestConfiguration(t *testing.T) {
	o := place(t, map[string]string{
		"config/valkey.conf": "maxmemory 100mb\nappendonly yes\nreplica-priority 50\n", "acl/users.acl": "user default on", "passwords/_replication": "secret\n",
	})
	lines := render(t, o, launch{follow: topology.Address{Host: "v-1.svc", Port: 6380}})
	for _, want := range []string{
		"maxmemory 100mb", "appendonly yes", "port 6379", "protected-mode no", "dir /data", "replica-announce-ip v-0.svc", "replica-announce-port 6379",
		"aclfile " + o.ACLDir + "/users.acl", "masteruser _replication", "masterauth secret", "replicaof v-1.svc 6380",
	} {
		if !slices.Contains(lines, want) {
			t.Errorf("no line %q in %q", want, lines)
		}
	}
	base, _ := o.baseConfig()
	if got := replicaPriority(base); got != "50" {
		t.Errorf("the configured priority is %s", got)
	}
	if files := o.files(base); !files.AppendOnly || files.Dir != "/data" {
		t.Errorf("files: %+v", files)
	}
	for name, test := range map[string]struct {
		launch launch
		want   string
	}{
		"unpromotable": {launch{unpromotable: true}, "replica-priority 0"},
		"load an RDB":  {launch{disk: dataset.Disk{Kind: dataset.KindRDB, Converts: true}}, "appendonly no"},
		"load an AOF":  {launch{disk: dataset.Disk{Kind: dataset.KindAOF, Converts: true}}, "appendonly yes"},
	} {
		lines := render(t, o, test.launch)
		if lines[len(lines)-1] != test.want {
			t.Errorf("%s: the last line is %q", name, lines[len(lines)-1])
		}
		if slices.ContainsFunc(lines, func(line string) bool { return strings.HasPrefix(line, "replicaof") }) {
			t.Errorf("%s: a primary follows", name)
		}
	}
}

func TestConfigurationOfANodeByHand(t *testing.T) {
	o := place(t, nil)
	lines := render(t, o, launch{})
	for _, unwanted := range []string{"aclfile", "masteruser", "masterauth", "replicaof"} {
		if slices.ContainsFunc(lines, func(line string) bool { return strings.HasPrefix(line, unwanted) }) {
			t.Errorf("%s in %q", unwanted, lines)
		}
	}
	if o.credentials().Password != "" || replicaPriority(nil) != "100" {
		t.Error("something comes from nowhere")
	}
}

func TestBadConfiguration(t *testing.T) {
	o := place(t, map[string]string{"config/valkey.conf": `maxmemory "`, "passwords/_replication": "a\nb"})
	if _, err := o.baseConfig(); err == nil {
		t.Error("an open quote")
	}
	if _, err := o.render(nil, launch{self: boot.Endpoint{Host: "h", Port: 1}}); err == nil || strings.Contains(err.Error(), "a\nb") {
		t.Errorf("a password of two lines: %v", err)
	}
}

func members() boot.Node {
	return boot.Node{Namespace: "ns", Valkey: "v", DNS: boot.DNS{ClusterDomain: "cluster.test"}, Members: []boot.Endpoint{
		{Name: "v-0", Host: "v-0.svc", Port: 6379}, {Name: "v-1", Host: "v-1.svc", Port: 6379},
	}}
}

func TestNamesOfAddresses(t *testing.T) {
	s := newSet(members(), Options{Node: "v-1", PodIP: "10.0.0.1"})
	if s.self.Host != "v-1.svc" || s.index() != 1 {
		t.Errorf("self: %+v, %d", s.self, s.index())
	}
	for _, test := range []struct {
		host string
		port int
		want string
	}{
		{"v-0.svc", 6379, "v-0"}, {"V-0.SVC.", 6379, "v-0"}, {"10.0.0.1", 6379, "v-1"}, {"v-0.svc", 6380, "v-0.svc:6380"}, {"10.0.0.9", 6379, "10.0.0.9:6379"}, {"", 0, ""},
	} {
		address := topology.Address{Host: test.host, Port: test.port}
		got := s.nameOf(address)
		if got != test.want {
			t.Errorf("%s: %q, want %q", address, got, test.want)
		}
		if back := s.addressOf(got); got != "" && s.nameOf(back) != got {
			t.Errorf("%q: back it is %s", got, back)
		}
	}
	gone := newSet(members(), Options{Node: "v-7"})
	if gone.index() == 0 || gone.self.Host != naming.NodeHost("v-7", "ns", "cluster.test") || gone.self.Port != naming.PortValkey {
		t.Errorf("one that is being removed: %+v, index %d", gone.self, gone.index())
	}
}

func TestWordOfASentinelThatHasNotStarted(t *testing.T) {
	s := newSet(members(), Options{Node: "v-1"})
	s.MonitorName = "main"
	down := topology.SentinelView{Reach: topology.Reach{Class: topology.ReachUnreachable}}
	settled := &probe.Sentinel{Settled: []probe.Monitor{{Name: "other"}, {Name: "main", Host: "v-0.svc", Port: 6379, ConfigEpoch: 4}}}
	for name, test := range map[string]struct {
		report *probe.Report
		want   decision.Sentinel
	}{
		"no agent":            {nil, decision.Sentinel{}},
		"not settled":         {&probe.Report{Phase: probe.PhaseDeciding, Sentinel: &probe.Sentinel{}}, decision.Sentinel{}},
		"settled":             {&probe.Report{Phase: probe.PhaseDeciding, Sentinel: settled}, decision.Sentinel{Answered: true, Says: "v-0", Epoch: 4}},
		"running, but silent": {&probe.Report{Phase: probe.PhaseRunning, Sentinel: settled}, decision.Sentinel{}},
		"a data node":         {&probe.Report{Phase: probe.PhaseDeciding, Node: &probe.Node{}}, decision.Sentinel{}},
	} {
		if got := s.sentinel(down, test.report); got != test.want {
			t.Errorf("%s: %+v", name, got)
		}
	}
	up := topology.SentinelView{Reach: topology.Reach{Class: topology.ReachOK}, Monitors: map[string]topology.MonitorView{
		"main": {Primary: topology.Address{Host: "v-1.svc", Port: 6379}, ConfigEpoch: 5, FailoverInProgress: true},
	}}
	if got := s.sentinel(up, nil); got != (decision.Sentinel{Answered: true, Says: "v-1", Epoch: 5, Pending: true}) {
		t.Errorf("running: %+v", got)
	}
}

// A wait that began in a container that was ended goes on in the next.
func TestWaitsGoOnAcrossContainers(t *testing.T) {
	o := place(t, nil)
	o.RunDir = t.TempDir()
	a := &Agent{options: o}
	began := a.decidingSince()
	if again := a.decidingSince(); !again.Equal(began.Round(0)) {
		t.Errorf("it began %s, and then %s", began, again)
	}
	for _, content := range []string{"nonsense", `"2999-01-01T00:00:00Z"`} {
		if err := os.WriteFile(filepath.Join(o.RunDir, fileDeciding), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		if since := time.Since(a.decidingSince()); since < 0 || since > time.Minute {
			t.Errorf("%s: %s ago", content, since)
		}
	}
}

func TestSettingsThatAreSwappedWhileRead(t *testing.T) {
	o := place(t, map[string]string{"config/boot.json": `{"names`})
	go func() {
		time.Sleep(120 * time.Millisecond)
		_ = os.WriteFile(filepath.Join(o.ConfigDir, naming.KeyBoot), []byte(`{"namespace":"ns"}`), 0o600)
	}()
	if settings, err := o.settings(); err != nil || settings.Namespace != "ns" {
		t.Errorf("%+v, %v", settings, err)
	}
}
