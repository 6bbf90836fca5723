// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package host

import (
	"errors"
	"os/exec"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/valkeykube/valkeykube/hack/cluster/internal/state"
)

// start runs a shell script that has said that it is set up.
func start(t *testing.T, script string) (state.Process, <-chan error) {
	t.Helper()
	cmd := exec.Command("/bin/sh", "-c", script)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := out.Read(make([]byte, 1)); err != nil {
		t.Fatal(err)
	}
	process, err := state.Of(cmd.Process.Pid)
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	t.Cleanup(func() { _ = cmd.Process.Kill() })
	return process, ended
}

func TestEndAsksFirst(t *testing.T) {
	process, ended := start(t, "trap 'exit 7' TERM; echo; while :; do sleep 0.01; done")
	if err := End(process, 10*time.Second); err != nil {
		t.Fatal(err)
	}
	var exit *exec.ExitError
	if err := <-ended; !asExit(err, &exit) || exit.ExitCode() != 7 {
		t.Errorf("ended with %v, want its own exit status 7", err)
	}
}

func TestEndEndsWhatDoesNotListen(t *testing.T) {
	process, ended := start(t, "trap '' TERM; echo; while :; do sleep 0.01; done")
	if err := End(process, 50*time.Millisecond); err != nil {
		t.Fatal(err)
	}
	var exit *exec.ExitError
	if err := <-ended; !asExit(err, &exit) || exit.Sys().(interface{ Signal() unix.Signal }).Signal() != unix.SIGKILL {
		t.Errorf("ended with %v, want SIGKILL", err)
	}
	if process.Alive() {
		t.Error("the process is alive")
	}
}

func TestSignalReachesNoOtherProcess(t *testing.T) {
	process, _ := start(t, "echo; exec sleep 60")
	other := process
	other.Start--
	if err := Signal(other, unix.SIGKILL); err != nil {
		t.Fatal(err)
	}
	if !Wait(other, time.Minute) {
		t.Error("waits for a process that is not there")
	}
	if Wait(process, 50*time.Millisecond) || !process.Alive() {
		t.Error("the process with the same pid was hit")
	}
}

func asExit(err error, target **exec.ExitError) bool {
	var exit *exec.ExitError
	ok := errors.As(err, &exit)
	*target = exit
	return ok
}
