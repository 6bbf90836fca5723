// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"fmt"
	"math/rand"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"sync/atomic"
	"testing"

	"github.com/valkeykube/valkeykube/cmd/agent/app"
	"github.com/valkeykube/valkeykube/pkg/boot"
	"github.com/valkeykube/valkeykube/pkg/naming"
	"github.com/valkeykube/valkeykube/pkg/valkeyclient"
	"github.com/valkeykube/valkeykube/pkg/valkeyclient/valkeytest"
	"github.com/valkeykube/valkeykube/pkg/valkeyconf"
)

const envAgent = "VALKEYKUBE_TEST_AGENT"

// The test binary is also the agent.
func TestMain(m *testing.M) {
	if os.Getenv(envAgent) != "" {
		os.Exit(app.Run(os.Args[1:], os.Stdout, os.Stderr))
	}
	os.Exit(m.Run())
}

const (
	monitorName = "main"
	zone        = "cluster.test"
	setUID      = "11111111-2222-3333-4444-555555555555"
)

// options of a set.
type options struct {
	mode      string
	replicas  int
	sentinels int
	// persistent: the data directory outlives the pod. config is added to valkey.conf.
	persistent bool
	config     []string
	// flags are added to those of the nodes' agents.
	flags []string
	// downAfter of the monitor, in milliseconds. Default 1000.
	downAfter int
	binary    valkeytest.Binary
	// tls is what the nodes are told; what is mounted is the test's.
	tls *boot.TLS
	// networks gives each pod a network of its own, which it can be cut off from. Needs a network of the test's own.
	networks bool
	// dns makes everybody reachable by name only: the DNS server's address. Needs a network of the test's own.
	dns string
}

// set is the pods of a Valkey and of its Sentinels, and what the controller would write for them.
type set struct {
	t         *testing.T
	options   options
	dir       string
	agentPort int
	nodes     []*pod
	sentinels []*pod
	client    *valkeyclient.Client
	// encryption is how the test speaks to the nodes.
	encryption valkeyclient.Encryption
	// hint is the controller's, "" before there was a primary; each hint written reaches all nodes at once.
	hint string
}

const (
	password = "0123456789abcdefghijklmnopqrstuv"
	// adminUser is the test's own, for what the product's users may not do.
	adminUser = "admin"
)

var networks atomic.Int32

// newSet lays out the files; no pod is started. Each pod has a loopback address of its own, and one port for its agent.
func newSet(t *testing.T, o options) *set {
	t.Helper()
	if o.binary.Path == "" {
		o.binary = valkeytest.Default(t)
	}
	if o.downAfter == 0 {
		o.downAfter = 2000 // two ping periods: below that Sentinels at times take a primary that they have just made for down, measured with 9.1
	}
	s := &set{t: t, options: o, dir: t.TempDir(), agentPort: freePort(t), client: valkeytest.NewClient(t)}
	network := fmt.Sprintf("127.%d.%d", 64+rand.Intn(128), networks.Add(1)) //nolint:gosec // any free one will do
	if o.networks {
		network = layBridge(t)
	}
	for i := range o.replicas + 1 {
		name := naming.NodeName("v", i)
		s.nodes = append(s.nodes, s.newPod("node", name, fmt.Sprintf("%s.%d", network, 10+i)))
	}
	for i := range o.sentinels {
		name := naming.SentinelPod("s", i)
		s.sentinels = append(s.sentinels, s.newPod("sentinel", name, fmt.Sprintf("%s.%d", network, 100+i)))
	}
	t.Cleanup(func() {
		for _, p := range append(append([]*pod{}, s.nodes...), s.sentinels...) {
			p.kill()
			if t.Failed() {
				t.Logf("%s:\n%s", p.name, p.logTail(120))
			}
		}
	})
	if o.networks {
		for _, p := range append(append([]*pod{}, s.nodes...), s.sentinels...) {
			p.plugIn()
		}
	}
	s.write()
	return s
}

func (s *set) newPod(kind, name, host string) *pod {
	p := &pod{
		set: s, kind: kind, name: name, dir: filepath.Join(s.dir, name),
		address: valkeyclient.Address{Host: host, Port: freePort(s.t)},
	}
	p.announced = p.address
	if s.options.dns != "" {
		p.announced.Host = name + "." + zone
	}
	return p
}

// freePort is below those that the kernel gives to connections: one that is found free stays free until a server comes back to it.
func freePort(t *testing.T) int {
	t.Helper()
	for range 100 {
		port := 10000 + rand.Intn(20000) //nolint:gosec // any free one will do
		listener, err := net.Listen("tcp", fmt.Sprintf(":%d", port))
		if err == nil {
			_ = listener.Close()
			return port
		}
	}
	t.Fatal("no free port")
	return 0
}

func endpoints(pods []*pod) []boot.Endpoint {
	var list []boot.Endpoint
	for _, p := range pods {
		list = append(list, boot.Endpoint{Name: p.name, Host: p.announced.Host, Port: p.announced.Port})
	}
	return list
}

// write writes what the controller writes: settings, configuration, ACL files, passwords.
func (s *set) write() {
	s.t.Helper()
	node := boot.Node{
		Namespace: "ns", Valkey: "v", Mode: s.options.mode, Members: endpoints(s.nodes), MonitorName: monitorName,
		Sentinels: endpoints(s.sentinels), Primary: s.hint, Persistent: s.options.persistent, DNS: s.dns(),
		TLS: s.options.tls,
	}
	nodeSettings, err := boot.Encode(node)
	s.must(err)
	for _, p := range s.nodes {
		config := ""
		for _, line := range append([]string{"repl-diskless-sync-delay 0", "repl-ping-replica-period 1"}, s.options.config...) {
			config += line + "\n"
		}
		p.put("config/"+naming.KeyBoot, nodeSettings)
		p.put("config/"+naming.KeyServerConfig, config)
		p.put("acl/"+naming.KeyACL, s.acl(naming.SystemUsers(), valkeyconf.NodeUser, valkeyconf.OpenNodeDefault()))
		for _, user := range []string{naming.UserAgent, naming.UserReplication, naming.KeySentinelAgent} {
			p.put("passwords/"+user, password)
		}
	}
	if len(s.sentinels) > 0 {
		s.writeSentinels(s.sentinelSettings())
	}
}

func (s *set) writeSentinels(settings boot.Sentinel) {
	s.t.Helper()
	text, err := boot.Encode(settings)
	s.must(err)
	for _, p := range s.sentinels {
		p.put("config/"+naming.KeyBoot, text)
		p.put("config/"+naming.KeyACL, s.acl(naming.SentinelSystemUsers(), valkeyconf.SentinelUser, valkeyconf.OpenSentinelDefault()))
	}
}

func (s *set) sentinelSettings() boot.Sentinel {
	primary := s.nodes[0]
	for _, p := range s.nodes {
		if p.name == s.hint {
			primary = p
		}
	}
	return boot.Sentinel{
		Namespace: "ns", Set: "s", SetUID: setUID, Peers: endpoints(s.sentinels), PeerUser: naming.UserPeer, PeerPass: password,
		DNS: s.dns(),
		Monitors: []boot.Monitor{{
			Name: monitorName, Host: primary.announced.Host, Port: primary.announced.Port, Members: endpoints(s.nodes),
			Quorum: len(s.sentinels)/2 + 1, AuthUser: naming.UserSentinel, AuthPass: password,
			Settings: map[string]string{"down-after-milliseconds": strconv.Itoa(s.options.downAfter), "failover-timeout": "10000"},
		}},
	}
}

func (s *set) dns() boot.DNS {
	settings := boot.DNS{ClusterDomain: zone}
	if s.options.dns != "" {
		settings.Upstreams = []string{s.options.dns}
	}
	return settings
}

func (s *set) acl(names []string, user func(string, ...string) (valkeyconf.User, bool), defaultUser valkeyconf.User) string {
	users := []valkeyconf.User{defaultUser, {
		Name: adminUser, Enabled: true, PasswordHashes: []string{valkeyconf.HashPassword(password)}, Rules: []string{"~*", "&*", "+@all"},
	}}
	for _, name := range names {
		u, known := user(name, valkeyconf.HashPassword(password))
		if !known {
			s.t.Fatalf("no user %s", name)
		}
		users = append(users, u)
	}
	text, err := valkeyconf.RenderACL(users)
	s.must(err)
	return text
}

func (s *set) must(err error) {
	s.t.Helper()
	if err != nil {
		s.t.Fatal(err)
	}
}

// setHint writes the controller's hint.
func (s *set) setHint(p *pod) {
	s.t.Helper()
	s.hint = p.name
	s.write()
}

func (s *set) startAll(pods []*pod) {
	s.t.Helper()
	for _, p := range pods {
		p.start()
	}
}
