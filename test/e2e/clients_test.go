//go:build e2e

// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"crypto/rand"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/valkeykube/valkeykube/pkg/apis/valkey/v1alpha1"
	"github.com/valkeykube/valkeykube/pkg/naming"
	"github.com/valkeykube/valkeykube/pkg/valkeyclient/valkeytest"
	"github.com/valkeykube/valkeykube/test/e2e/framework"
)

// clientsPage says what each client library can do. The test does what it says.
const clientsPage = "../../docs/clients.md"

// library is a row of the table.
type library struct {
	name, version string
	// program are the words that start it in the client pod; the ledger itself writes with go-redis.
	program   string
	sentinels bool
}

// Client libraries that nobody here wrote, all at once, find the primary again whatever happens to it.
// It runs alone: six clients at once slow other tests down.
func TestClientLibraries(t *testing.T) {
	page, err := os.ReadFile(clientsPage)
	if err != nil {
		t.Fatal(err)
	}
	e := framework.Connect(t)
	c := &clients{env: e, ns: e.Namespace(t, "clients"), page: string(page), all: libraries(t, string(page))}
	c.set = e.Start(t, c.ns, framework.Options{Name: "main", Replicas: 2, Mode: v1alpha1.FailoverModeSentinel, DownAfter: 5 * time.Second})
	c.pod = e.Libraries(t, c.ns)
	t.Run("a hand-over", func(t *testing.T) { c.handOver(t, c.viaSentinels()) })
	t.Run("a hand-over, through the write Service", func(t *testing.T) { c.handOver(t, c.viaService()) })
	t.Run("the primary is killed", c.kill)
	t.Run("a roll, over TLS and with logins", c.secureRoll)
}

type clients struct {
	env  *framework.Env
	ns   string
	page string
	all  []library
	set  *framework.Set
	pod  *framework.Client
	// flags are those of every client: how it logs in, and whom it believes.
	flags []string
}

// viaSentinels are the routes of those who can through the Sentinels, and of the others through the write Service.
func (c *clients) viaSentinels() map[string][]string {
	routes := c.viaService()
	for _, l := range c.all {
		if l.sentinels {
			routes[l.name] = c.route(l, c.set.ViaSentinel())
		}
	}
	return routes
}

func (c *clients) viaService() map[string][]string {
	routes := map[string][]string{}
	for _, l := range c.all {
		routes[l.name] = c.route(l, []string{"-addr", c.set.PrimaryAddress()})
	}
	return routes
}

func (c *clients) route(l library, way []string) []string {
	flags := slices.Concat(way, c.flags, []string{"-writers", "2", "-every", "20ms"})
	if l.program != "" {
		flags = append(flags, "-program", l.program)
	}
	return flags
}

func (c *clients) handOver(t *testing.T, routes map[string][]string) {
	c.set.WaitAgreed(t)
	c.set.All(t, c.pod, routes, true, func() { c.set.Failover(t, v1alpha1.FailoverRequestSpec{}) })
}

func (c *clients) kill(t *testing.T) {
	c.set.WaitReady(t, time.Minute)
	c.set.WaitAgreed(t)
	before := c.set.Primary(t)
	sums := c.set.All(t, c.pod, c.viaSentinels(), false, func() {
		framework.Cluster(t, "signal", "SIGKILL", c.ns, naming.NodePod(before), naming.ContainerServer)
		framework.Eventually(t, time.Minute, "another node than "+before+" is primary", func() error {
			if now := c.set.Primary(t); now == before || now == "" {
				return fmt.Errorf("it is %q", now)
			}
			return nil
		})
	})
	for name, sum := range sums {
		// Some wait for an answer for so long that nothing fails.
		if sum.MaxGapMillis < 1000 {
			t.Errorf("%s noticed nothing of it: %+v", name, sum)
		}
	}
}

// sentinelsWithLogins is the ValkeySentinel of the page.
var sentinelsWithLogins = regexp.MustCompile("(?s)```yaml\n(apiVersion.*?kind: ValkeySentinel\n.*?)```")

const (
	secureTLS  = "  networking: {tls: {enabled: true, secretName: " + secretTLS + "}}\n"
	secureUser = `  users:
  - name: app
    passwordSecret: {name: app}
    keys: {readWrite: ["*"]}
    channels: {patterns: ["*"]}
    commands: {allow: ["@read", "@write", "@connection", "@pubsub", info, role]}
`
	logins = `
apiVersion: v1
kind: Secret
metadata: {name: app}
stringData: {password: %s}
---
apiVersion: v1
kind: Secret
metadata: {name: finder}
stringData: {password: %s}
`
)

// secureRoll has the clients write over TLS, with names verified, logged in at the servers and at the Sentinels, while every pod is replaced.
func (c *clients) secureRoll(t *testing.T) {
	page := sentinelsWithLogins.FindStringSubmatch(c.page)
	if page == nil {
		t.Fatalf("%s has no ValkeySentinel with logins", clientsPage)
	}
	o := framework.Options{Name: "secure", Replicas: 2, Mode: v1alpha1.FailoverModeSentinel, DownAfter: 5 * time.Second, Extra: secureTLS + secureUser}
	x := &encrypted{authority: valkeytest.NewAuthority(t), client: c.pod, secret: secretTLS}
	x.Set = &framework.Set{Env: c.env, Namespace: c.env.Namespace(t, "secure"), Name: o.Name, Sentinel: "watch", Sentinels: 3}
	x.issue(t)
	app, finder := rand.Text(), rand.Text()
	framework.Apply(t, x.Namespace, fmt.Sprintf(logins, app, finder))
	framework.Apply(t, x.Namespace, page[1]+secureTLS)
	framework.Apply(t, x.Namespace, o.Manifest())
	x.WaitReady(t, 3*time.Minute)
	x.await(t, v1alpha1.ReasonAsExpected)

	c.pod.Put(t, "/tmp/ca.crt", string(x.authority.PEM))
	c.set, c.flags = x.Set, []string{
		"-ca", "/tmp/ca.crt", "-user", "app", "-password", app, "-sentinel-user", "finder", "-sentinel-password", finder,
	}
	before := x.Primary(t)
	x.All(t, c.pod, c.viaSentinels(), true, func() {
		x.Patch(t, `{"spec":{"resources":{"requests":{"cpu":"11m"}}}}`)
		framework.Eventually(t, 3*time.Minute, "another node than "+before+" is primary", func() error {
			if now := x.Primary(t); now == before || now == "" {
				return fmt.Errorf("it is %q", now)
			}
			return nil
		})
	})
}

var (
	libraryRow = regexp.MustCompile("(?m)^\\| `([a-z-]+)` \\| ([0-9.]+) \\| (Sentinels, )?write Service \\|")
	pinned     = regexp.MustCompile(`(?m)^ {4}"[^"]+": "([0-9.]+)"$|valkey-go v([0-9.]+)$|go-redis/v9 v([0-9.]+)$`)
)

// libraries are those of the table. Each program of test/clients must be in it, with the version that its lock file has.
func libraries(t *testing.T, page string) []library {
	t.Helper()
	programs := map[string]library{"go-redis": {name: "go-redis", version: version(t, "../client/go.mod")}}
	entries, err := os.ReadDir("../clients")
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range entries {
		folder, l := filepath.Join("../clients", entry.Name()), library{name: entry.Name()}
		if !entry.IsDir() {
			continue
		}
		if path := filepath.Join(folder, "package.json"); exists(path) {
			l.version, l.program = version(t, path), "/usr/bin/node /clients/"+l.name+"/main.mjs"
		} else {
			l.version, l.program = version(t, filepath.Join(folder, "go.mod")), "/clients/"+l.name+"/"+l.name
		}
		programs[l.name] = l
	}
	var all []library
	for _, row := range libraryRow.FindAllStringSubmatch(page, -1) {
		l, known := programs[row[1]]
		if !known || l.version != row[2] {
			t.Errorf("%s names %s %s; tried is %q", clientsPage, row[1], row[2], l.version)
		}
		l.sentinels = row[3] != ""
		all = append(all, l)
		delete(programs, row[1])
	}
	for name := range programs {
		t.Errorf("%s does not name %s", clientsPage, name)
	}
	if t.Failed() || len(all) < 2 {
		t.Fatalf("%d libraries are tried", len(all))
	}
	return all
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// version is the one of the library that a program is about, as it is pinned.
func version(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	match := pinned.FindStringSubmatch(string(text))
	if match == nil {
		t.Fatalf("%s pins no version", path)
	}
	return strings.Join(match[1:], "")
}
