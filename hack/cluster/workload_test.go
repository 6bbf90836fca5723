// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build lifecycle

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/valkeykube/valkeykube/hack/cluster/internal/build"
)

const restricted = `{apiVersion: v1, kind: Namespace, metadata: {name: servers, labels: {pod-security.kubernetes.io/enforce: restricted}}}`

// serve runs each Valkey version on each node of a cluster and returns the names of the pods, by node.
func serve(t *testing.T, name string) map[string][]string {
	t.Helper()
	template, err := os.ReadFile(filepath.Join("testdata", "servers.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	pods := map[string][]string{}
	manifest := restricted
	for i, version := range build.ValkeyVersions {
		for n := 1; n <= 3; n++ {
			pod, node := fmt.Sprintf("v%d-%d", i, n), fmt.Sprintf("node-%d", n)
			pods[node] = append(pods[node], pod)
			manifest += "\n---\n" + strings.NewReplacer("NAME", pod, "NODE", node, "VERSION", version).Replace(string(template))
		}
	}
	must(t, name, manifest, "apply", "-f", "-")
	must(t, name, "", "-n", "servers", "wait", "pod", "--all", "--for=condition=Ready", "--timeout=120s")
	return pods
}

func must(t *testing.T, name, stdin string, args ...string) string {
	t.Helper()
	out, err := kubectl(t, name, stdin, args...)
	if err != nil {
		t.Fatalf("kubectl %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return strings.TrimSpace(out)
}

// ask has a pod's client speak to a server by its name in the cluster DNS.
func ask(t *testing.T, name, pod, server string, command ...string) (string, error) {
	t.Helper()
	args := append([]string{"-n", "servers", "exec", pod, "-c", "valkey", "--", "valkey-cli", "-e", "-t", "2", "-h", server}, command...)
	out, err := kubectl(t, name, "", args...)
	return strings.TrimSpace(out), err
}

func addressOf(t *testing.T, pod string) string {
	t.Helper()
	return must(t, trial, "", "-n", "servers", "get", "pod", pod, "-o", "jsonpath={.status.podIP}")
}

// Two clusters at once, the second of another DNS domain and of IPv6 alone, each with every server version on every node: names resolve, Services lead from every node to
// every node, and removing one cluster leaves the other as it is.
func TestTwoClusters(t *testing.T) {
	settle(t)
	names := []string{trial, trial + "-2"}
	shapes := map[string][]string{trial + "-2": {"--domain", "k8s.example", "--family", "ipv6"}}
	domains := map[string]string{trial: "cluster.local", trial + "-2": "k8s.example"}
	var both sync.WaitGroup
	for _, name := range names {
		both.Go(func() { run(t, append([]string{"up", "--name", name}, shapes[name]...)...) })
	}
	both.Wait()
	if t.Failed() {
		t.FailNow()
	}
	for _, name := range names {
		pods := serve(t, name)
		for _, from := range pods {
			for _, to := range pods {
				if out, err := ask(t, name, from[0], to[1]+".servers.svc."+domains[name], "ping"); err != nil || out != "PONG" {
					t.Errorf("%s: from %s to %s: %q, %v", name, from[0], to[1], out, err)
				}
			}
		}
		for i, version := range build.ValkeyVersions {
			if out, err := ask(t, name, "v0-1", fmt.Sprintf("v%d-2", i), "info", "server"); err != nil || !strings.Contains(out, "valkey_version:"+version+".") {
				t.Errorf("%s: Valkey %s says %q, %v", name, version, out, err)
			}
		}
		if out, err := ask(t, name, "v0-1", "nowhere.test", "ping"); err == nil || !strings.Contains(out, "Name or service not known") {
			t.Errorf("a name outside the cluster: %q, %v", out, err)
		}
	}
	run(t, "down", "--name", names[1])
	run(t, "status", "--name", names[0])
	if out, err := ask(t, names[0], "v0-1", "v0-2", "ping"); err != nil || out != "PONG" {
		t.Errorf("after the other cluster went: %q, %v", out, err)
	}
}

func TestVolumesGrowAndGo(t *testing.T) {
	settle(t)
	run(t, "up", "--name", trial)
	serve(t, trial)
	must(t, trial, "", "-n", "servers", "patch", "pvc", "v0-1", "-p", `{"spec":{"resources":{"requests":{"storage":"2Gi"}}}}`)
	must(t, trial, "", "-n", "servers", "wait", "pvc", "v0-1", "--for=jsonpath={.status.capacity.storage}=2Gi", "--timeout=60s")
	volume := must(t, trial, "", "-n", "servers", "get", "pvc", "v0-1", "-o", "jsonpath={.spec.volumeName}")
	if size := must(t, trial, "", "get", "pv", volume, "-o", "jsonpath={.spec.capacity.storage}"); size != "2Gi" {
		t.Errorf("the volume has %s", size)
	}
	folder := "/var/lib/valkeykube/" + trial + "/nodes/node-1/volumes/" + volume
	if entries, err := os.ReadDir(folder); err != nil || len(entries) == 0 {
		t.Fatalf("the server has written nothing to %s: %v", folder, err)
	}
	must(t, trial, "", "-n", "servers", "delete", "pod/v0-1", "pvc/v0-1")
	must(t, trial, "", "wait", "pv", volume, "--for=delete", "--timeout=60s")
	if _, err := os.Stat(folder); !os.IsNotExist(err) {
		t.Errorf("the data are left: %v", err)
	}
}

func TestCutAndHeal(t *testing.T) {
	settle(t)
	run(t, "up", "--name", trial)
	serve(t, trial)
	if out, err := ask(t, trial, "v0-1", "v0-2", "set", "kept", "yes"); err != nil {
		t.Fatal(out, err)
	}
	// By address: half of the cluster's DNS may be on the cut node.
	address, third := addressOf(t, "v0-2"), addressOf(t, "v0-3")
	run(t, "cut", "node-2", "--name", trial)
	if out, err := ask(t, trial, "v0-1", address, "ping"); err == nil {
		t.Errorf("the cut node answers: %q", out)
	}
	if out, err := ask(t, trial, "v0-1", third, "ping"); err != nil {
		t.Errorf("the others do not: %q, %v", out, err)
	}
	must(t, trial, "", "wait", "node/node-2", "--for=condition=Ready=Unknown", "--timeout=120s")
	run(t, "heal", "node-2", "--name", trial)
	must(t, trial, "", "wait", "node/node-2", "--for=condition=Ready", "--timeout=60s")
	eventually(t, "an answer of the healed node", func() error {
		if out, err := ask(t, trial, "v0-1", address, "get", "kept"); err != nil || out != "yes" {
			return fmt.Errorf("%q, %v", out, err)
		}
		return nil
	})
	if restarts := must(t, trial, "", "-n", "servers", "get", "pod", "v0-2", "-o", "jsonpath={.status.containerStatuses[*].restartCount}"); restarts != "0 0" {
		t.Errorf("the cut pod was restarted: %s", restarts)
	}
}

func TestStopAndStartNode(t *testing.T) {
	settle(t)
	run(t, "up", "--name", trial)
	serve(t, trial)
	if out, err := ask(t, trial, "v0-1", "v0-3", "set", "kept", "yes"); err != nil {
		t.Fatal(out, err)
	}
	second := addressOf(t, "v0-2")
	run(t, "stop-node", "node-3", "--name", trial)
	for _, process := range processes(t) {
		if strings.Contains(process, "/nodes/node-3/") {
			t.Errorf("runs on the stopped node: %s", process)
		}
	}
	if out, err := ask(t, trial, "v0-1", second, "ping"); err != nil {
		t.Errorf("the others do not answer: %q, %v", out, err)
	}
	run(t, "status", "--name", trial)
	run(t, "start-node", "node-3", "--name", trial)
	must(t, trial, "", "-n", "servers", "wait", "pod", "--all", "--for=condition=Ready", "--timeout=120s")
	eventually(t, "the data of the started node", func() error {
		if out, err := ask(t, trial, "v0-1", "v0-3", "get", "kept"); err != nil || out != "yes" {
			return fmt.Errorf("%q, %v", out, err)
		}
		return nil
	})
	run(t, "stop-node", "node-1", "--name", trial)
	// Bringing the cluster up is to have all of it.
	run(t, "cut", "node-2", "--name", trial)
	run(t, "up", "--name", trial)
	if out := run(t, "status", "--name", trial); strings.Contains(out, "stopped") || strings.Contains(out, "cut") {
		t.Errorf("not whole:\n%s", out)
	}
}

// Nothing that a cluster sends can leave the machine: no namespace has a way out, and the machine's own has no way in.
func TestNoWayOut(t *testing.T) {
	settle(t)
	before := output(t, "ip", "route", "show", "table", "all")
	run(t, "up", "--name", trial)
	for _, namespace := range []string{"cp", "node-1", "node-2", "node-3"} {
		if out := output(t, "ip", "-n", "vk-"+trial+"-"+namespace, "route", "show", "default"); out != "" {
			t.Errorf("%s has a default route: %s", namespace, out)
		}
	}
	if after := output(t, "ip", "route", "show", "table", "all"); after != before {
		t.Errorf("the machine's routes are others:\n%s\nbefore:\n%s", after, before)
	}
}
