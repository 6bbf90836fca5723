// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package sentinel

import (
	"log/slog"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/valkeykube/valkeykube/pkg/agent/certificate"
	"github.com/valkeykube/valkeykube/pkg/agent/decision"
	"github.com/valkeykube/valkeykube/pkg/boot"
	"github.com/valkeykube/valkeykube/pkg/naming"
	"github.com/valkeykube/valkeykube/pkg/topology"
)

const file = `
port 26379
dir "/var/lib/sentinel/state"
sentinel myid 0123456789012345678901234567890123456789
sentinel monitor main v-1.svc 6379 2
sentinel down-after-milliseconds main 5000
sentinel auth-pass main secret
sentinel config-epoch main 3
sentinel leader-epoch main 4
sentinel known-replica main v-0.svc 6379
sentinel current-epoch 5
sentinel monitor other v-9.svc 6380 2
sentinel config-epoch unknown
latency-tracking-info-percentiles 50 99 99.9
`

func TestReadState(t *testing.T) {
	got, err := readState(file)
	want := state{myID: "0123456789012345678901234567890123456789", currentEpoch: 5, monitors: map[string]monitorState{
		"main":    {primary: topology.Address{Host: "v-1.svc", Port: 6379}, configEpoch: 3, leaderEpoch: 4, downAfter: 5 * time.Second},
		"other":   {primary: topology.Address{Host: "v-9.svc", Port: 6380}},
		"unknown": {},
	}}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, %v", got, err)
	}
	if shortest := got.shortestDownAfter(); shortest != 5*time.Second {
		t.Errorf("shortest down-after %s", shortest)
	}
	if back := stateFrom("s-0", got.report()); back.monitors["main"].configEpoch != 3 || len(back.monitors) != 2 {
		t.Errorf("after the way through a report: %+v", back)
	}
	for _, broken := range []string{`sentinel monitor "main`, "sentinel monitor main\nsentinel myid"} {
		if s, err := readState(broken); err == nil && len(s.monitors) > 0 && !s.monitors["main"].primary.IsZero() {
			t.Errorf("%q: %+v", broken, s)
		}
	}
}

func TestPingPeriod(t *testing.T) {
	for downAfter, want := range map[time.Duration]time.Duration{
		usualDownAfter: usualPing, 5 * time.Second: usualPing, 2 * time.Second: 400 * time.Millisecond, time.Second: 200 * time.Millisecond,
		500 * time.Millisecond: minPing, time.Millisecond: minPing,
	} {
		if got := pingPeriod(downAfter); got != want {
			t.Errorf("%s: every %s, not %s", downAfter, got, want)
		}
	}
	if shortest := (state{}).shortestDownAfter(); shortest != usualDownAfter {
		t.Errorf("without monitors: %s", shortest)
	}
}

func at(host string) topology.Address { return topology.Address{Host: host, Port: 6379} }

// says is the state of a Sentinel that monitors the host since the epoch.
func says(host string, epoch int64) state {
	return state{currentEpoch: epoch, monitors: map[string]monitorState{"main": {primary: at(host), configEpoch: epoch}}}
}

func TestWhatSentinelsRemember(t *testing.T) {
	cases := map[string]struct {
		memory    memory
		want      topology.Address
		wantEpoch int64
		wantKnown bool
	}{
		"nobody":                             {memory: memory{}},
		"this one alone, before a failover":  {memory: memory{own: says("v-0", 0)}},
		"this one alone, after a failover":   {memory{own: says("v-1", 2)}, at("v-1"), 2, true},
		"peers that run, before a failover":  {memory{own: says("v-9", 0), running: []state{says("v-0", 0), says("v-0", 0)}}, at("v-0"), 0, true},
		"peers that run, after a failover":   {memory{own: says("v-0", 0), running: []state{says("v-1", 1), says("v-1", 1)}}, at("v-1"), 1, true},
		"this one was there last":            {memory{own: says("v-2", 3), running: []state{says("v-1", 2), says("v-1", 2)}}, at("v-2"), 3, true},
		"peers that only start, by files":    {memory{starting: []state{says("v-1", 2), says("v-0", 1)}}, at("v-1"), 2, true},
		"peers that only start, no failover": {memory: memory{starting: []state{says("v-1", 0), says("v-1", 0)}}},
		"a majority at one epoch":            {memory{running: []state{says("v-2", 2), says("v-1", 2), says("v-1", 2)}}, at("v-1"), 2, true},
		"peers that do not monitor it":       {memory: memory{running: []state{{}, {}}}},
	}
	for name, test := range cases {
		t.Run(name, func(t *testing.T) {
			got, known := test.memory.remembered("main")
			if got.primary != test.want || got.configEpoch != test.wantEpoch || known != test.wantKnown {
				t.Errorf("got %+v, %v", got, known)
			}
		})
	}
}

func TestVotesAreNotGivenTwice(t *testing.T) {
	const id = "0123456789012345678901234567890123456789"
	m := memory{running: []state{says("v-1", 7)}}
	if got := m.leaderEpoch("main", id); got != 7 {
		t.Errorf("a Sentinel without memory may vote again in epoch 7: %d", got)
	}
	m.own = state{myID: id, currentEpoch: 8, monitors: map[string]monitorState{"main": {leaderEpoch: 6}}}
	if got := m.leaderEpoch("main", id); got != 6 {
		t.Errorf("its own memory: %d", got)
	}
	if got := m.currentEpoch(); got != 8 {
		t.Errorf("current epoch: %d", got)
	}
}

func TestSentinelsAgreeInAColdStart(t *testing.T) {
	says := func(name string, proposed, settled string) state {
		s := state{name: name, proposed: map[string]topology.Address{}, settled: map[string]topology.Address{}}
		if proposed != "" {
			s.proposed["main"] = at(proposed)
		}
		if settled != "" {
			s.settled["main"] = at(settled)
		}
		return s
	}
	mine := map[string]settled{"main": {primary: at("v-1")}}
	cases := map[string]struct {
		self      state
		peers     []state
		proposals map[string]settled
		over      bool
		want      string
	}{
		"alone":                              {says("s-1", "v-1", ""), nil, mine, false, "v-1"},
		"a peer has not spoken":              {says("s-1", "v-1", ""), []state{says("s-0", "", "")}, mine, false, ""},
		"a peer does not speak for too long": {says("s-1", "v-1", ""), []state{says("s-0", "", "")}, mine, true, "v-1"},
		"the first in order decides":         {says("s-1", "v-1", ""), []state{says("s-2", "v-2", ""), says("s-0", "v-0", "")}, mine, false, "v-0"},
		"it is this one":                     {says("s-0", "v-1", ""), []state{says("s-2", "v-2", ""), says("s-1", "v-0", "")}, mine, false, "v-1"},
		"somebody has settled":               {says("s-0", "v-1", ""), []state{says("s-2", "v-2", "v-2"), says("s-1", "", "")}, mine, false, "v-2"},
		"two have settled differently":       {says("s-1", "v-1", "v-1"), []state{says("s-2", "v-2", "v-2"), says("s-0", "v-0", "v-0")}, mine, false, "v-0"},
		"this one stays with what it told":   {says("s-0", "v-2", "v-1"), []state{says("s-2", "v-2", "v-2")}, mine, false, "v-1"},
		"nothing seen yet":                   {says("s-0", "", ""), nil, mine, false, ""},
		"it is remembered":                   {says("s-1", "", ""), []state{says("s-0", "v-0", "v-0")}, map[string]settled{"main": {primary: at("v-1"), known: true}}, false, "v-1"},
	}
	for name, test := range cases {
		t.Run(name, func(t *testing.T) {
			agreed, ok := agree(test.self, test.peers, test.proposals, !test.over)
			if ok != (test.want != "") || ok && agreed["main"].primary != at(test.want) {
				t.Errorf("got %+v, %v", agreed, ok)
			}
		})
	}
}

func member(name string) boot.Endpoint {
	return boot.Endpoint{Name: name, Host: name + ".svc", Port: 6379}
}

func monitor() boot.Monitor {
	return boot.Monitor{
		Name: "main", Host: "v-0.svc", Port: 6379, Members: []boot.Endpoint{member("v-0"), member("v-1"), member("v-2")}, Quorum: 2,
		AuthUser: naming.UserSentinel, AuthPass: "secret", Settings: map[string]string{"down-after-milliseconds": "5000"},
	}
}

// waits is a data node that has not started.
func waits(name string, position decision.Position) decision.Peer {
	return decision.Peer{Name: name, Agent: &decision.Agent{Deciding: true, HasData: position.ReplID != "", Position: position}}
}

func serves(name string, role topology.Role, follows string) decision.Peer {
	return decision.Peer{Name: name, Server: &decision.Server{Role: role, Follows: follows, LinkUp: true, HasData: true}}
}

func TestWhatMembersSay(t *testing.T) {
	old, young := decision.Position{ReplID: "A", Offset: 99}, decision.Position{ReplID: "B", Offset: 1, History: []string{"A"}}
	none := decision.Position{}
	silent := func(name string) decision.Peer { return decision.Peer{Name: name} }
	cases := map[string]struct {
		peers        []decision.Peer
		want         string
		wantComplete bool
	}{
		"nobody answers":                     {[]decision.Peer{silent("v-0"), silent("v-1"), silent("v-2")}, "v-0.svc", false},
		"one serves":                         {[]decision.Peer{silent("v-0"), serves("v-1", topology.RolePrimary, ""), silent("v-2")}, "v-1.svc", true},
		"the replicas follow one":            {[]decision.Peer{silent("v-0"), serves("v-1", topology.RoleReplica, "v-2"), silent("v-2")}, "v-2.svc", false},
		"all wait, all empty":                {[]decision.Peer{waits("v-0", none), waits("v-1", none), waits("v-2", none)}, "v-0.svc", true},
		"all wait, the told one is newest":   {[]decision.Peer{waits("v-0", young), waits("v-1", old), waits("v-2", none)}, "v-0.svc", true},
		"all wait, another is newest":        {[]decision.Peer{waits("v-0", old), waits("v-1", young), waits("v-2", none)}, "v-1.svc", true},
		"all wait, the told one is as good":  {[]decision.Peer{waits("v-0", old), waits("v-1", old), waits("v-2", old)}, "v-0.svc", true},
		"all wait, the told one is empty":    {[]decision.Peer{waits("v-0", none), waits("v-1", old), waits("v-2", none)}, "v-1.svc", true},
		"the told one is missing":            {[]decision.Peer{silent("v-0"), waits("v-1", old), waits("v-2", none)}, "v-1.svc", false},
		"another is missing":                 {[]decision.Peer{waits("v-0", old), waits("v-1", old), silent("v-2")}, "v-0.svc", false},
		"the told one follows another there": {[]decision.Peer{serves("v-0", topology.RoleReplica, "v-1"), waits("v-1", old), silent("v-2")}, "v-1.svc", false},
	}
	for name, test := range cases {
		t.Run(name, func(t *testing.T) {
			got, source, complete := fromMembers(monitor(), test.peers)
			if got.Host != test.want || complete != test.wantComplete || source == "" {
				t.Errorf("got %s (%s), complete %v", got, source, complete)
			}
		})
	}
}

func rendered(t *testing.T, change func(*rendering)) (string, string) {
	t.Helper()
	var log strings.Builder
	peers := []boot.Endpoint{{Name: "s-0", Host: "s-0.svc", Port: 26379}, {Name: "s-1", Host: "s-1.svc", Port: 26379}}
	r := rendering{
		settings: boot.Sentinel{SetUID: "uid", Peers: peers, PeerUser: naming.UserPeer, PeerPass: "peersecret", Monitors: []boot.Monitor{monitor()}},
		self:     peers[0], myID: naming.SentinelID("uid", "s-0"), stateDir: "/state", aclFile: "/acl", memory: memory{own: says("v-1", 3)},
		primaries: map[string]settled{"main": {primary: at("v-1.svc"), configEpoch: 3, leaderEpoch: 2}},
		log:       slog.New(slog.NewTextHandler(&log, nil)),
		listening: (&certificate.Store{}).Listening(nil, peers[0].Port),
	}
	change(&r)
	text, err := r.text()
	if err != nil {
		t.Fatal(err)
	}
	return text, log.String()
}

func TestFile(t *testing.T) {
	text, _ := rendered(t, func(*rendering) {})
	for _, want := range []string{
		"sentinel myid " + naming.SentinelID("uid", "s-0"),
		"sentinel announce-ip s-0.svc",
		"sentinel resolve-hostnames yes",
		"sentinel announce-hostnames yes",
		"sentinel deny-scripts-reconfig yes",
		"sentinel sentinel-user _peer",
		"sentinel monitor main v-1.svc 6379 2",
		"sentinel config-epoch main 3",
		"sentinel leader-epoch main 2",
		"sentinel current-epoch 3",
		"sentinel down-after-milliseconds main 5000",
		"sentinel known-replica main v-0.svc 6379",
		"sentinel known-replica main v-2.svc 6379",
		"sentinel known-sentinel main s-1.svc 26379 " + naming.SentinelID("uid", "s-1"),
		"aclfile /acl",
		"dir /state",
		"port 26379",
	} {
		if !slices.Contains(strings.Split(text, "\n"), want) {
			t.Errorf("no line %q in\n%s", want, text)
		}
	}
	if strings.Contains(text, "known-replica main v-1.svc") || strings.Contains(text, "known-sentinel main s-0.svc") {
		t.Errorf("the primary as its own replica, or the Sentinel as its own peer:\n%s", text)
	}
}

// Each of these would keep a Sentinel from starting.
func TestWhatIsLeftOut(t *testing.T) {
	cases := map[string]struct {
		change  func(*boot.Monitor)
		absent  string
		present string
	}{
		"a name with a blank":           {func(m *boot.Monitor) { m.Name = "a b" }, "sentinel monitor", "myid"},
		"a name with a newline":         {func(m *boot.Monitor) { m.Name = "a\nport 1" }, "port 1", "myid"},
		"a password with a quote":       {func(m *boot.Monitor) { m.AuthPass = `a"b` }, "sentinel monitor", "myid"},
		"a quorum of 0":                 {func(m *boot.Monitor) { m.Quorum = 0 }, "sentinel monitor", "myid"},
		"a setting with a newline":      {func(m *boot.Monitor) { m.Settings["failover-timeout"] = "1\nport 1" }, "failover-timeout", "sentinel monitor main"},
		"a setting that is none":        {func(m *boot.Monitor) { m.Settings["notification-script"] = "/bin/sh" }, "/bin/sh", "sentinel monitor main"},
		"a member that is listed twice": {func(m *boot.Monitor) { m.Members = append(m.Members, m.Members[2]) }, "v-2.svc 6379\nsentinel known-replica main v-2.svc", "known-replica main v-2.svc"},
		"a member without an address":   {func(m *boot.Monitor) { m.Members[2] = boot.Endpoint{Name: "v-2"} }, "known-replica main  ", "known-replica main v-0.svc"},
	}
	for name, test := range cases {
		t.Run(name, func(t *testing.T) {
			text, log := rendered(t, func(r *rendering) {
				m := monitor()
				test.change(&m)
				r.settings.Monitors = []boot.Monitor{m}
				r.primaries[m.Name] = settled{primary: at("v-1.svc")}
			})
			if strings.Contains(text, test.absent) || !strings.Contains(text, test.present) {
				t.Errorf("got\n%s", text)
			}
			if strings.Contains(log, "secret") || strings.Contains(log, `a\"b`) {
				t.Errorf("the log shows a password: %s", log)
			}
		})
	}
}

func TestUserConfiguration(t *testing.T) {
	text, log := rendered(t, func(r *rendering) {
		r.settings.Config = map[string]string{"loglevel": "verbose", "sentinel announce-ip": "192.0.2.1", "port": "1"}
	})
	if !strings.Contains(text, "loglevel verbose") || strings.Contains(text, "192.0.2.1") || strings.Contains(text, "port 1\n") {
		t.Errorf("got\n%s", text)
	}
	if strings.Count(log, "a setting is left out") != 2 {
		t.Errorf("the log: %s", log)
	}
}

func TestSelf(t *testing.T) {
	settings := boot.Sentinel{Set: "s", Peers: []boot.Endpoint{{Name: "s-0", Host: "h"}}}
	if got, err := self(settings, "s-0"); err != nil || got.Port != naming.PortSentinel {
		t.Errorf("%+v, %v", got, err)
	}
	if _, err := self(settings, "s-1"); err == nil {
		t.Error("a stranger")
	}
}

func FuzzReadState(f *testing.F) {
	f.Add(file)
	f.Fuzz(func(t *testing.T, text string) {
		s, err := readState(text)
		if err == nil {
			_ = stateFrom("s-0", s.report())
		}
	})
}
