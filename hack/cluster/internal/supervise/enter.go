// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package supervise

import (
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"runtime"

	"golang.org/x/sys/unix"

	"github.com/valkeykube/valkeykube/hack/cluster/internal/host"
	"github.com/valkeykube/valkeykube/hack/cluster/internal/state"
)

// Entry is how a daemon comes into its place.
type Entry struct {
	// Cgroup is where the process is found again, even when its record was never written.
	Cgroup string
	// Record is the file that names the process; Spec is written beside it.
	Record, Spec string
	// Netns is the network namespace, or "" for the machine's own.
	Netns string
	// IgnoreHangup keeps a SIGHUP that comes before the program has asked for it from ending it.
	IgnoreHangup bool
	Args         []string
}

// Enter turns the calling process into the daemon. The cgroup is joined and the record written first, so no daemon runs
// that a later run could not find. It returns only on failure.
func Enter(e Entry) error {
	cgroups, err := host.FindCgroups()
	if err != nil {
		return err
	}
	if e.IgnoreHangup {
		signal.Ignore(unix.SIGHUP)
	}
	pid := os.Getpid()
	if err := cgroups.Join(e.Cgroup, pid); err != nil {
		return err
	}
	self, err := state.Of(pid)
	if err != nil {
		return err
	}
	self.Spec = e.Spec
	if _, err := state.WriteJSON(e.Record, self); err != nil {
		return err
	}
	runtime.LockOSThread()
	if e.Netns != "" {
		if err := host.EnterNetns(e.Netns); err != nil {
			return err
		}
	}
	path, err := exec.LookPath(e.Args[0])
	if err != nil {
		return err
	}
	// exec leaves the thread's namespace to the new program.
	err = unix.Exec(path, e.Args, os.Environ())
	return fmt.Errorf("exec %s: %w", path, err)
}
