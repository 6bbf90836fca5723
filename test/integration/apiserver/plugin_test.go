// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package apiserver

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/valkeykube/valkeykube/pkg/apis/valkey/v1alpha1"
	"github.com/valkeykube/valkeykube/pkg/plugin/cluster"
	"github.com/valkeykube/valkeykube/pkg/plugin/command"
	"github.com/valkeykube/valkeykube/pkg/valkeyclient/valkeytest"
)

// printed is a stream that may be looked at while it is written to.
type printed struct {
	mu   sync.Mutex
	text strings.Builder
}

func (p *printed) Write(text []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.text.Write(text)
}

func (p *printed) String() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.text.String()
}

// plugin carries out a command line of kubectl valkey in a namespace of the shared server.
func plugin(ctx context.Context, t *testing.T, namespace string, out *printed, args ...string) (code int, stderr string) {
	t.Helper()
	kubeconfig := ""
	for _, variable := range kubectlCommand(ctx, t, namespace).Env {
		if file, ok := strings.CutPrefix(variable, "KUBECONFIG="); ok {
			kubeconfig = file
		}
	}
	problems := &printed{}
	app := &command.App{
		IOStreams: genericiooptions.IOStreams{In: strings.NewReader(""), Out: out, ErrOut: problems},
		Getenv:    func(string) string { return "" }, Now: time.Now,
	}
	code = command.Run(ctx, app, append([]string{"--kubeconfig", kubeconfig, "--cache-dir", t.TempDir()}, args...))
	return code, problems.String()
}

// mustPlugin carries it out and wants success; what it prints is returned.
func mustPlugin(t *testing.T, namespace string, args ...string) string {
	t.Helper()
	out := &printed{}
	if code, stderr := plugin(t.Context(), t, namespace, out, args...); code != command.ExitOK {
		t.Fatalf("kubectl valkey %s: exit code %d\n%s\n%s", strings.Join(args, " "), code, out, stderr)
	}
	return out.String()
}

func TestPlugin(t *testing.T) {
	const namespace = "plugin"
	set := startSet(t, namespace, v1alpha1.FailoverModeSentinel, 2, 3)
	report(t, namespace)

	screen := mustPlugin(t, namespace, "status", "cache")
	for _, want := range []string{"Valkey plugin/cache", "cache-0   primary", "cache-1   replica   up", "watch, monitor cache, quorum 2", "a failover could be authorised: yes", "valkey-sentinel-watch-2"} {
		if !strings.Contains(screen, want) {
			t.Errorf("no %q on the screen:\n%s", want, screen)
		}
	}
	var seen cluster.Overview
	if err := json.Unmarshal([]byte(mustPlugin(t, namespace, "status", "cache", "-o", "json")), &seen); err != nil {
		t.Fatal(err)
	}
	if seen.Replication == nil || seen.Replication.Primary != "cache-0" || seen.Monitor == nil || len(seen.Monitor.Views) != 3 || seen.Monitor.Valkey != "cache" {
		t.Errorf("got %+v", seen)
	}
	if out := mustPlugin(t, namespace, "replication", "cache"); !strings.Contains(out, "cache-0   primary") || !strings.Contains(out, "3/3") {
		t.Errorf("replication:\n%s", out)
	}
	if out := mustPlugin(t, namespace, "monitors", "watch", "-o", "wide"); !strings.Contains(out, "watch.cache") || !strings.Contains(out, "usable Sentinels") {
		t.Errorf("monitors:\n%s", out)
	}
	if out := mustPlugin(t, namespace, "connect", "cache", "--client", "valkey-go"); !strings.Contains(out, `MasterSet: "cache"`) {
		t.Errorf("connect:\n%s", out)
	}
	if code, stderr := plugin(t.Context(), t, namespace, &printed{}, "monitors", "missing"); code != command.ExitError || !strings.Contains(stderr, "not found") {
		t.Errorf("a set that is not there: exit code %d, %s", code, stderr)
	}

	pluginFailsOver(t, namespace, set)
	pluginTakesSnapshot(t, namespace, set)
}

// report writes into the status what the controller would: who monitors the Valkey.
func report(t *testing.T, namespace string) {
	t.Helper()
	valkey := get(t, namespace)
	valkey.Status.Monitoring = &v1alpha1.MonitoringStatus{Sentinel: "watch", MonitorName: "cache", Registered: true, Quorum: 2, AvailableQuorum: 3}
	if _, err := shared.client.ValkeyV1alpha1().Valkeys(namespace).UpdateStatus(t.Context(), valkey, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
}

func pluginFailsOver(t *testing.T, namespace string, set *valkeytest.Set) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	watched, ended := &printed{}, make(chan int, 1)
	go func() {
		code, _ := plugin(ctx, t, namespace, watched, "monitors", "--watch")
		ended <- code
	}()
	valkeytest.Eventually(t, "the watch shows the monitor", func(context.Context) error {
		return lacks(watched, set.Nodes[0].Address.String())
	})
	if out := mustPlugin(t, namespace, "failover", "cache", "--to", "2", "--dry-run"); !strings.Contains(out, "possible now, cache-0 to cache-2") || !isPrimary(t, set.Nodes[0]) {
		t.Errorf("dry run: %s", out)
	}
	if out := mustPlugin(t, namespace, "failover", "cache", "--to", "2"); !strings.Contains(out, "Succeeded, cache-0 to cache-2, coordinated, took ") || !isPrimary(t, set.Nodes[2]) {
		t.Errorf("failover: %s", out)
	}
	code, stderr := plugin(t.Context(), t, namespace, &printed{}, "failover", "cache", "--to", "cache-2")
	if code != command.ExitRefused || !strings.Contains(stderr, "cache-2") {
		t.Errorf("to the primary: exit code %d, %s", code, stderr)
	}
	valkeytest.Eventually(t, "the watch shows the failover", func(context.Context) error {
		return lacks(watched, set.Nodes[2].Address.String())
	})
	cancel()
	if code := <-ended; code != command.ExitOK {
		t.Errorf("the watch ended with %d", code)
	}
}

type lacking string

func (l lacking) Error() string { return "not there yet: " + string(l) }

func lacks(out *printed, text string) error {
	if strings.Contains(out.String(), text) {
		return nil
	}
	return lacking(text + " in " + out.String())
}

func pluginTakesSnapshot(t *testing.T, namespace string, set *valkeytest.Set) {
	t.Helper()
	set.Nodes[2].CommandAs(credentials("tester"), "SET", "greeting", "hello")
	set.AwaitReplicas(t)
	file := filepath.Join(t.TempDir(), "dump.rdb")
	out := &printed{}
	code, stderr := plugin(t.Context(), t, namespace, out, "snapshot", "cache", "-o", file)
	if code != command.ExitOK || !strings.Contains(stderr, "verified: end and checksum of the RDB, length, SHA-256") {
		t.Fatalf("exit code %d: %s %s", code, out, stderr)
	}
	content, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if got := restore(t, content).Command("GET", "greeting"); got != "hello" {
		t.Errorf("restored: %q", got)
	}
	if code, stderr := plugin(t.Context(), t, namespace, out, "snapshot", "cache", "-o", file); code != command.ExitUsage || !strings.Contains(stderr, "--overwrite") {
		t.Errorf("over a file: exit code %d, %s", code, stderr)
	}
	for _, node := range set.Nodes {
		node.Kill()
	}
	for _, line := range [][]string{{"replication", "cache"}, {"snapshot", "cache", "-o", file, "--overwrite"}} {
		// Of a look that is a second old the server still tells.
		valkeytest.Eventually(t, strings.Join(line, " ")+" is refused", func(ctx context.Context) error {
			code, stderr := plugin(ctx, t, namespace, &printed{}, line...)
			if code == command.ExitRefused {
				return nil
			}
			return lacking(stderr)
		})
	}
	if after, err := os.ReadFile(file); err != nil || string(after) != string(content) {
		t.Errorf("a snapshot that failed has changed the file: %v", err)
	}
	if screen := mustPlugin(t, namespace, "status", "cache"); !strings.Contains(screen, "no member of the Valkey answers") {
		t.Errorf("the screen does not say that nobody answers:\n%s", screen)
	}
}
