// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build lifecycle

package main

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

// These tests bring real clusters up and down on this machine, as root:
//
//	go test -tags lifecycle -timeout 30m -v .

// trial is the name of the clusters of these tests.
const trial = "trial"

var tool string

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "cluster-*")
	if err != nil {
		panic(err)
	}
	tool = filepath.Join(dir, "cluster")
	if out, err := exec.Command("go", "build", "-trimpath", "-buildvcs=false", "-o", tool, ".").CombinedOutput(); err != nil {
		panic(fmt.Sprintf("%v: %s", err, out))
	}
	code := m.Run()
	os.RemoveAll(dir)
	os.Exit(code)
}

// run calls the program and returns what it printed.
func run(t *testing.T, args ...string) string {
	t.Helper()
	out, err := exec.Command(tool, args...).CombinedOutput()
	if err != nil {
		t.Fatalf("cluster %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return string(out)
}

// kubectl asks the cluster of that name.
func kubectl(t *testing.T, name, stdin string, args ...string) (string, error) {
	t.Helper()
	cmd := exec.Command(filepath.Join(cacheDir(t), "bin", "kubernetes-v1.37.2", "kubectl"), args...)
	cmd.Env = append(os.Environ(), "KUBECONFIG="+strings.TrimSpace(run(t, "kubeconfig", "--name", name)))
	cmd.Stdin = strings.NewReader(stdin)
	out, err := cmd.CombinedOutput()
	return string(out), err
}

func cacheDir(t *testing.T) string {
	t.Helper()
	if dir := os.Getenv("VALKEYKUBE_CACHE"); dir != "" {
		return dir
	}
	dir, err := os.UserCacheDir()
	if err != nil {
		t.Fatal(err)
	}
	return filepath.Join(dir, "valkeykube")
}

// machine lists everything on the machine in which a cluster could leave something.
func machine(t *testing.T) map[string][]string {
	t.Helper()
	state := map[string][]string{}
	mounts, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(mounts)) {
		state["mounts"] = append(state["mounts"], strings.Fields(line)[4])
	}
	for _, pattern := range []string{"/run/*", "/run/netns/*", "/run/containerd/*/*", "/run/lock/*", "/var/lib/*", "/var/lib/valkeykube/*", "/var/lib/valkeykube/.*",
		"/var/lib/kubelet/*", "/var/lib/cni/*/*", "/var/lib/containerd/*", "/var/log/*", "/var/log/containers/*", "/var/log/pods/*", "/opt/*", "/etc/cni/*",
		"/usr/libexec/*", "/sys/fs/cgroup/*valkeykube*", "/sys/fs/cgroup/*/*valkeykube*", "/sys/class/net/*"} {
		found, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		state[pattern] = found
	}
	for _, setting := range []string{"vm/overcommit_memory", "vm/panic_on_oom", "kernel/panic", "kernel/panic_on_oops",
		"kernel/keys/root_maxkeys", "kernel/keys/root_maxbytes", "fs/inotify/max_user_instances", "fs/inotify/max_user_watches",
		"net/ipv4/ip_forward", "net/ipv4/conf/all/forwarding"} {
		if value, err := os.ReadFile("/proc/sys/" + setting); err == nil {
			state["settings"] = append(state["settings"], setting+"="+strings.TrimSpace(string(value)))
		}
	}
	rules, err := exec.Command("nft", "list", "ruleset").CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, rules)
	}
	state["nft"] = []string{string(rules)}
	state["processes"] = processes(t)
	return state
}

// processes lists programs that run out of a cluster's folder or for it. Ended ones that nobody has waited for have no
// command line.
func processes(t *testing.T) []string {
	t.Helper()
	files, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	for _, file := range files {
		line, err := os.ReadFile(file)
		if err == nil && bytes.Contains(line, []byte("/var/lib/valkeykube/")) {
			found = append(found, strings.ReplaceAll(string(line), "\x00", " "))
		}
	}
	slices.Sort(found)
	return found
}

// compare fails for what is on the machine now and was not before, and the other way round.
func compare(t *testing.T, before map[string][]string) {
	t.Helper()
	after := machine(t)
	for place := range before {
		for _, what := range after[place] {
			if !slices.Contains(before[place], what) {
				t.Errorf("left behind in %s: %s", place, what)
			}
		}
		for _, what := range before[place] {
			if !slices.Contains(after[place], what) {
				t.Errorf("gone from %s: %s", place, what)
			}
		}
	}
}

// settle makes the machine free of the trial clusters before and after a test.
func settle(t *testing.T) map[string][]string {
	t.Helper()
	names := []string{trial, trial + "-2"}
	for _, name := range names {
		run(t, "down", "--name", name)
	}
	before := machine(t)
	t.Cleanup(func() {
		for _, name := range names {
			run(t, "down", "--name", name)
		}
		compare(t, before)
	})
	return before
}

// A run that is killed at any moment leaves something that the next run completes, or clears without a trace.
func TestKilledRun(t *testing.T) {
	settle(t)
	for _, moment := range []string{"[1/", "[2/", "[3/", "[5/", "[6/", "[7/", "[9/"} {
		t.Run(moment, func(t *testing.T) {
			before := machine(t)
			killAt(t, moment)
			run(t, "down", "--name", trial)
			compare(t, before)
		})
	}
	t.Run("completed", func(t *testing.T) {
		killAt(t, "[3/")
		run(t, "up", "--name", trial)
		run(t, "status", "--name", trial)
	})
}

// killAt kills 'up' when it says that a step begins.
func killAt(t *testing.T, moment string) {
	t.Helper()
	cmd := exec.Command(tool, "up", "--name", trial)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var said bytes.Buffer
	part := make([]byte, 256)
	for !strings.Contains(said.String(), moment) {
		n, err := out.Read(part)
		said.Write(part[:n])
		if err != nil {
			t.Fatalf("ended before %s: %v\n%s", moment, err, said.String())
		}
	}
	if err := cmd.Process.Signal(syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
}

func TestUpTwiceChangesNothing(t *testing.T) {
	settle(t)
	run(t, "up", "--name", trial)
	before := run(t, "status", "--name", trial)
	writes := auditLines(t)
	run(t, "up", "--name", trial)
	if after := run(t, "status", "--name", trial); after != before {
		t.Errorf("before:\n%s\nafter:\n%s", before, after)
	}
	for _, line := range auditLines(t)[len(writes):] {
		// Server-side apply of the same is a patch that writes nothing; any other write of the administrator is one too many.
		if strings.Contains(line, "\"username\":\"kubernetes-admin\"") && !strings.Contains(line, "\"verb\":\"patch\"") {
			t.Errorf("written: %s", line)
		}
	}
}

func auditLines(t *testing.T) []string {
	t.Helper()
	content, err := os.ReadFile("/var/lib/valkeykube/" + trial + "/logs/audit.log")
	if err != nil {
		t.Fatal(err)
	}
	return strings.Split(strings.TrimSpace(string(content)), "\n")
}

// What the supervisor keeps running comes back, also under another supervisor.
func TestDaemonsComeBack(t *testing.T) {
	settle(t)
	run(t, "up", "--name", trial)
	for _, daemon := range []string{"kube-apiserver", "etcd", "kube-controller-manager", "kube-scheduler", "forwarder",
		"local-volume-provisioner", "node-1.containerd", "node-1.kubelet", "node-1.kube-proxy", "node-1.netpol"} {
		run(t, "restart", daemon, "--kill", "--name", trial)
	}
	kill(t, "supervisor")
	if out, err := exec.Command(tool, "status", "--name", trial).CombinedOutput(); err == nil {
		t.Errorf("status is content without a supervisor:\n%s", out)
	}
	run(t, "up", "--name", trial)
	run(t, "restart", "kube-scheduler", "--name", trial)
	run(t, "stop", "kube-controller-manager", "--name", trial)
	if out := run(t, "status", "--name", trial); !strings.Contains(out, "stopped") {
		t.Errorf("not stopped:\n%s", out)
	}
	run(t, "start", "kube-controller-manager", "--name", trial)
	run(t, "status", "--name", trial)
}

// kill ends a daemon by the pid in the status.
func kill(t *testing.T, daemon string) {
	t.Helper()
	for line := range strings.Lines(run(t, "status", "--name", trial)) {
		var name, state string
		var pid int
		if n, _ := fmt.Sscan(line, &name, &pid, &state); n == 3 && name == daemon {
			if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
				t.Fatal(err)
			}
			eventually(t, "the end of "+daemon, func() error {
				if err := syscall.Kill(pid, 0); err == nil && len(cmdline(pid)) > 0 {
					return fmt.Errorf("process %d is there", pid)
				}
				return nil
			})
			return
		}
	}
	t.Fatalf("%s does not run", daemon)
}

func cmdline(pid int) []byte {
	line, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
	if err != nil {
		return nil
	}
	return line
}

func eventually(t *testing.T, what string, holds func() error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	for {
		err := holds()
		if err == nil {
			return
		}
		select {
		case <-ctx.Done():
			t.Fatalf("%s: %v", what, err)
		case <-time.After(200 * time.Millisecond):
		}
	}
}

// A port that something else on the machine uses is no reason to fail.
func TestTakenPortIsPassedOver(t *testing.T) {
	settle(t)
	listener, err := net.Listen("tcp", "127.0.0.1:26443")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	run(t, "up", "--name", trial)
	run(t, "status", "--name", trial)
}

func output(t *testing.T, name string, args ...string) string {
	t.Helper()
	out, err := exec.Command(name, args...).CombinedOutput()
	if err != nil {
		t.Fatalf("%s %s: %v\n%s", name, strings.Join(args, " "), err, out)
	}
	return string(out)
}
