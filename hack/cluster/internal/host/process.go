// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package host

import (
	"fmt"
	"time"

	"golang.org/x/sys/unix"

	"github.com/valkeykube/valkeykube/hack/cluster/internal/state"
)

// Signal sends a signal to exactly the recorded process. A process handle is opened before its identity is checked, so
// that the signal cannot reach another one that got the pid in between.
func Signal(p state.Process, signal unix.Signal) error {
	fd, err := unix.PidfdOpen(p.PID, 0)
	if err != nil {
		return nil
	}
	defer unix.Close(fd)
	if !p.Alive() {
		return nil
	}
	if err := unix.PidfdSendSignal(fd, signal, nil, 0); err != nil && err != unix.ESRCH {
		return fmt.Errorf("signal process %d: %w", p.PID, err)
	}
	return nil
}

// Wait waits for the end of a process that need not be a child. It tells whether the process ended in time.
func Wait(p state.Process, within time.Duration) bool {
	fd, err := unix.PidfdOpen(p.PID, 0)
	if err != nil {
		return true
	}
	defer unix.Close(fd)
	if !p.Alive() {
		return true
	}
	deadline := time.Now().Add(within)
	for {
		left := time.Until(deadline)
		if left <= 0 {
			return !p.Alive()
		}
		n, err := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, int(left.Milliseconds())+1)
		if err == nil && n > 0 {
			return true
		}
		if err != nil && err != unix.EINTR {
			return !p.Alive()
		}
	}
}

// End asks a process to end, and makes it when it has not after the grace period.
func End(p state.Process, grace time.Duration) error {
	if err := Signal(p, unix.SIGTERM); err != nil {
		return err
	}
	if Wait(p, grace) {
		return nil
	}
	if err := Signal(p, unix.SIGKILL); err != nil {
		return err
	}
	if !Wait(p, 10*time.Second) {
		return fmt.Errorf("process %d does not end", p.PID)
	}
	return nil
}
