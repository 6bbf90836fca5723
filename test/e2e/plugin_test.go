//go:build e2e

// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"archive/tar"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/valkeykube/valkeykube/pkg/apis/valkey/v1alpha1"
	"github.com/valkeykube/valkeykube/pkg/naming"
	"github.com/valkeykube/valkeykube/pkg/plugin/cluster"
	"github.com/valkeykube/valkeykube/test/e2e/framework"
)

const usersOfPluginTest = `  users:
  - name: app
    passwordSecret: {name: app-password, keys: [password]}
    keys: {readWrite: ["*"]}
    commands: {allow: ["@all"], deny: ["@admin"]}
`

// kubectl finds the built plugin on the PATH, and each of its commands works against a real set.
func TestPlugin(t *testing.T) {
	bin, err := filepath.Abs(filepath.Join("..", "..", "bin"))
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", bin+string(os.PathListSeparator)+os.Getenv("PATH"))
	e := framework.Connect(t)
	ns := e.Namespace(t, "plugin")
	const password = "secret-of-the-app-7d1f"
	framework.Kubectl(t, "create", "secret", "generic", "app-password", "-n", ns, "--from-literal=password="+password)
	s := e.Start(t, ns, framework.Options{Name: "main", Replicas: 2, Mode: v1alpha1.FailoverModeSentinel, Extra: usersOfPluginTest})
	s.WaitAgreed(t)

	pluginShows(t, s)
	pluginTalks(t, s, password)
	pluginChangesPrimary(t, s)
	pluginSaves(t, s)
	pluginBundles(t, s, password)
}

// valkey is kubectl valkey in the namespace of a set.
func valkey(t *testing.T, s *framework.Set, args ...string) string {
	t.Helper()
	return framework.Kubectl(t, append([]string{"valkey", "-n", s.Namespace}, args...)...)
}

// wants fails for each text that is not in out.
func wants(t *testing.T, what, out string, texts ...string) {
	t.Helper()
	for _, text := range texts {
		if !strings.Contains(out, text) {
			t.Errorf("%s: no %q in\n%s", what, text, out)
		}
	}
}

func pluginShows(t *testing.T, s *framework.Set) {
	t.Helper()
	wants(t, "status", valkey(t, s, "status", "main"), "Valkey "+s.Namespace+"/main  Ready", s.Primary(t), "valkey-main-1-0", "valkey-sentinel-watch-0",
		"a failover could be authorised: yes", "SentinelQuorumHealthy")
	wants(t, "status of all", valkey(t, s, "status"), "main", "Ready", "3/3")
	var seen cluster.Overview
	if err := json.Unmarshal([]byte(valkey(t, s, "status", "main", "-o", "json")), &seen); err != nil {
		t.Fatal(err)
	}
	if len(seen.Pods) != 6 || seen.Replication == nil || len(seen.Replication.Members) != 3 || seen.Monitor == nil || len(seen.Unknown) != 0 {
		t.Errorf("status for programs: %+v", seen)
	}
	wants(t, "replication", valkey(t, s, "replication", "main"), "main-0", "main-1", "main-2", "3/3")
	wants(t, "monitors", valkey(t, s, "monitors", "-o", "wide"), "watch.main", "valkey-sentinel-watch-2", "usable Sentinels")
	wants(t, "credentials", valkey(t, s, "credentials", "main", "--system"), "app", "app-password", "yes", naming.UserOperator)
	wants(t, "connect", valkey(t, s, "connect", "main", "--client", "go-redis"), s.SentinelAddresses()[0], `MasterName: "main"`, `Username: "app"`)
	wants(t, "describe-boot", valkey(t, s, "describe-boot", "main"), "valkey-main-0-0", "Running", "by rule")
	wants(t, "describe-boot of Sentinels", valkey(t, s, "describe-boot", "--sentinel", "watch"), "valkey-sentinel-watch-2", "main at ")
	wants(t, "version", valkey(t, s, "version"), "v1.37.2", "True", "valkey-apiserver:dev")
}

func pluginTalks(t *testing.T, s *framework.Set, password string) {
	t.Helper()
	if out := valkey(t, s, "cli", "main", "--", "PING"); out != "PONG\n" {
		t.Errorf("PING: %q", out)
	}
	if out := valkey(t, s, "cli", "main", "--", "ACL", "WHOAMI"); out != "app\n" {
		t.Errorf("logged in as %q", out)
	}
	out, err := framework.TryKubectl(t, "SET greeting \"hello there\"\nGET greeting\n", "valkey", "-n", s.Namespace, "cli", "main")
	if err != nil || out != "OK\nhello there\n" {
		t.Errorf("from standard input: %q, %v", out, err)
	}
	replica := s.Replica(t)
	wants(t, "a named node", valkey(t, s, "cli", "main", "--node", replica, "--login", naming.UserOperator, "--", "ROLE"), "slave")
	if code := exitCode(t, s, "cli", "main", "--node", replica, "--", "SET", "a", "b"); code != 1 {
		t.Errorf("a write to a replica: exit code %d", code)
	}
	out, err = framework.TryKubectl(t, "not-the-password\n", "valkey", "-n", s.Namespace, "cli", "main", "--ask-password", "--", "PING")
	if err == nil || strings.Contains(out+err.Error(), password) {
		t.Errorf("with a wrong password: %q, %v", out, err)
	}
}

// exitCode is that of the plugin, which kubectl passes on.
func exitCode(t *testing.T, s *framework.Set, args ...string) int {
	t.Helper()
	_, err := framework.TryKubectl(t, "", append([]string{"valkey", "-n", s.Namespace}, args...)...)
	var ended *exec.ExitError
	if err != nil && !errors.As(err, &ended) {
		t.Fatal(err)
	}
	if ended == nil {
		return 0
	}
	return ended.ExitCode()
}

func pluginChangesPrimary(t *testing.T, s *framework.Set) {
	t.Helper()
	before, target := s.Primary(t), s.Replica(t)
	wants(t, "dry run", valkey(t, s, "failover", "main", "--to", target, "--dry-run"), "possible now, "+before+" to "+target)
	if now := s.Primary(t); now != before {
		t.Fatalf("a dry run made %s the primary", now)
	}
	wants(t, "failover", valkey(t, s, "failover", "main", "--to", target), "Succeeded, "+before+" to "+target+", coordinated")
	if code := exitCode(t, s, "failover", "main", "--to", target); code != 3 {
		t.Errorf("to the primary itself: exit code %d", code)
	}
	if code := exitCode(t, s, "failover"); code != 2 {
		t.Errorf("of nothing: exit code %d", code)
	}
	s.WaitReady(t, time.Minute)
	s.WaitAgreed(t)
	wants(t, "status", valkey(t, s, "status", "main"), before+" to "+target+", Requested")
}

func pluginSaves(t *testing.T, s *framework.Set) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "main.rdb")
	valkey(t, s, "snapshot", "main", "-o", file)
	content, err := os.ReadFile(file)
	if err != nil || !strings.HasPrefix(string(content), "REDIS") && !strings.HasPrefix(string(content), "VALKEY") || !strings.Contains(string(content), "greeting") {
		t.Errorf("the snapshot: %d bytes, %v", len(content), err)
	}
}

func pluginBundles(t *testing.T, s *framework.Set, password string) {
	t.Helper()
	secrets, err := s.Env.Kube.CoreV1().Secrets(s.Namespace).List(context.WithoutCancel(t.Context()), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	hidden := map[string]string{password: "the user's"}
	for i := range secrets.Items {
		name := secrets.Items[i].Name
		if strings.HasSuffix(name, "-system-passwords") || strings.HasSuffix(name, "-copy") {
			for key, value := range secrets.Items[i].Data {
				hidden[string(value)] = name + "/" + key
			}
		}
	}
	if len(hidden) < 8 {
		t.Fatalf("only %d passwords to look for", len(hidden))
	}
	file := filepath.Join(t.TempDir(), "bundle.tar.gz")
	wants(t, "bundle", valkey(t, s, "support-bundle", "-o", file), "files")
	names := map[string]bool{}
	eachFile(t, file, func(name, content string) {
		names[name] = true
		for value, whose := range hidden {
			if strings.Contains(content, value) {
				t.Errorf("%s holds the password %s", name, whose)
			}
		}
	})
	for _, want := range []string{
		"README.txt", "versions.yaml", "events.yaml", "objects/valkeys.yaml", "objects/statefulsets.yaml", "objects/monitors.yaml", "valkeys/main/status.txt",
		"valkeys/main/replication.yaml", "pods/valkey-main-0-0/pod.yaml", "pods/valkey-main-0-0/server.log", "pods/valkey-main-0-0/bootz.json",
		"pods/valkey-sentinel-watch-0/bootz.json", "system/deployments.yaml", "system/apiservice.yaml",
	} {
		if !names[want] {
			t.Errorf("the bundle has no %s; it has %v", want, names)
		}
	}
}

// eachFile visits what is in a bundle, without its folder.
func eachFile(t *testing.T, file string, visit func(name, content string)) {
	t.Helper()
	packed, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer packed.Close()
	zipped, err := gzip.NewReader(packed)
	if err != nil {
		t.Fatal(err)
	}
	for reader := tar.NewReader(zipped); ; {
		header, err := reader.Next()
		if errors.Is(err, io.EOF) {
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		content, err := io.ReadAll(reader)
		if err != nil {
			t.Fatal(err)
		}
		_, name, ok := strings.Cut(header.Name, "/")
		if !ok {
			t.Errorf("a file outside of the folder: %s", header.Name)
		}
		visit(name, string(content))
	}
}
