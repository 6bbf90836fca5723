// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package process

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// The test binary is also the agent of these tests: it supervises what its arguments say and exits with its code.
func TestMain(m *testing.M) {
	if len(os.Args) > 2 && os.Args[1] == "supervise" {
		os.Exit(supervise(os.Args[2:]))
	}
	os.Exit(m.Run())
}

// supervise does what the agent's main does, as the reaper of its orphans, which pid 1 is without asking.
func supervise(command []string) int {
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		panic(err)
	}
	signals := CatchSignals()
	child, err := Start(Options{Path: command[0], Args: command[1:], ReapAll: true})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 127
	}
	go signals.Pass(child)
	select {
	case <-signals.Stop:
		child.Signal(syscall.SIGTERM)
	case <-child.Done():
	}
	return child.ExitCode()
}

func shell(script string) *exec.Cmd {
	command := exec.Command(os.Args[0], "supervise", "/bin/sh", "-c", script)
	command.Stderr = os.Stderr
	return command
}

func exitCode(t *testing.T, command *exec.Cmd) int {
	t.Helper()
	_ = command.Run()
	return command.ProcessState.ExitCode()
}

func TestExitCodes(t *testing.T) {
	for script, want := range map[string]int{"exit 0": 0, "exit 7": 7, "kill -9 $$": 137, "kill -SEGV $$": 139} {
		if got := exitCode(t, shell(script)); got != want {
			t.Errorf("%q: got %d, want %d", script, got, want)
		}
	}
	if got := exitCode(t, exec.Command(os.Args[0], "supervise", "/no/such/file")); got != 127 {
		t.Errorf("a file that is not there: got %d", got)
	}
}

// started runs the script, which prints "ready", until it has.
func started(t *testing.T, script string) (*exec.Cmd, *bytes.Buffer) {
	t.Helper()
	command := shell(script)
	out := &bytes.Buffer{}
	pipe, err := command.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = command.Process.Kill() })
	ready := make(chan struct{})
	go func() {
		chunk := make([]byte, 4096)
		announced := false
		for {
			n, err := pipe.Read(chunk)
			out.Write(chunk[:n])
			if !announced && strings.Contains(out.String(), "ready") {
				announced = true
				close(ready)
			}
			if err != nil {
				return
			}
		}
	}()
	select {
	case <-ready:
	case <-time.After(30 * time.Second):
		t.Fatal("the script is not ready")
	}
	return command, out
}

func TestSignalsArePassedOn(t *testing.T) {
	for name, sent := range map[string]syscall.Signal{"TERM": syscall.SIGTERM, "HUP": syscall.SIGHUP, "USR1": syscall.SIGUSR1} {
		script := `trap "exit 42" ` + name + `; echo ready; while :; do sleep 0.05; done`
		command, _ := started(t, script)
		if err := command.Process.Signal(sent); err != nil {
			t.Fatal(err)
		}
		_ = command.Wait()
		if got := command.ProcessState.ExitCode(); got != 42 {
			t.Errorf("%s: got %d", name, got)
		}
	}
}

func TestOrphansAreCollected(t *testing.T) {
	// The grandchildren outlive their parent, and die as children of the reaper.
	command, _ := started(t, `for i in 1 2 3 4 5; do ( sleep 0.2 & ) ; done; echo ready; exec sleep 60`)
	deadline := time.Now().Add(30 * time.Second)
	for {
		zombies, children := childrenOf(t, command.Process.Pid)
		if children == 1 && zombies == 0 {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("%d children, %d of them zombies", children, zombies)
		}
		time.Sleep(20 * time.Millisecond)
	}
	if err := command.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	_ = command.Wait()
	if got := command.ProcessState.ExitCode(); got != 143 {
		t.Errorf("got %d", got)
	}
}

func childrenOf(t *testing.T, pid int) (zombies, children int) {
	t.Helper()
	stats, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range stats {
		content, err := os.ReadFile(file)
		if err != nil {
			continue
		}
		fields := strings.Fields(string(content[bytes.LastIndexByte(content, ')')+1:]))
		if parent, _ := strconv.Atoi(fields[1]); parent == pid {
			children++
			if fields[0] == "Z" {
				zombies++
			}
		}
	}
	return zombies, children
}

func TestOnlyTheOwnChildIsCollectedOtherwise(t *testing.T) {
	other := exec.Command("/bin/sh", "-c", "exit 3")
	if err := other.Start(); err != nil {
		t.Fatal(err)
	}
	child, err := Start(Options{Path: "/bin/sh", Args: []string{"-c", "exit 5"}})
	if err != nil {
		t.Fatal(err)
	}
	if got := child.ExitCode(); got != 5 || child.Alive() {
		t.Errorf("got %d, alive %v", got, child.Alive())
	}
	child.Signal(syscall.SIGTERM) // does nothing
	_ = other.Wait()
	if got := other.ProcessState.ExitCode(); got != 3 {
		t.Errorf("the other's code is lost: %d", got)
	}
}

func TestFind(t *testing.T) {
	if path, err := Find("no-such-binary", "sh"); err != nil || filepath.Base(path) != "sh" {
		t.Errorf("%q, %v", path, err)
	}
	if _, err := Find("no-such-binary"); err == nil || !strings.Contains(err.Error(), "no-such-binary") {
		t.Errorf("%v", err)
	}
}
