// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package supervise

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"syscall"
	"time"

	"github.com/valkeykube/valkeykube/hack/cluster/internal/host"
	"github.com/valkeykube/valkeykube/hack/cluster/internal/state"
)

const (
	firstPause = 300 * time.Millisecond
	longPause  = 5 * time.Second
	// goodRun is how long a daemon has to run for its next failure to count as a first one.
	goodRun = 15 * time.Second
	// endGrace is what a daemon gets to end by itself.
	endGrace = 10 * time.Second
	// logLimit is the size from which a daemon's log is set aside at its next start.
	logLimit = 64 << 20
)

// keeper keeps one daemon as it is wanted.
type keeper struct {
	*Supervisor
	name  string
	wake  chan struct{}
	pause time.Duration
}

// run follows the daemon until ctx ends; the daemon itself goes on then.
func (k *keeper) run(ctx context.Context) {
	k.pause = firstPause
	for ctx.Err() == nil {
		started := time.Now()
		process, alive, err := k.settle()
		switch {
		case err != nil:
			k.logf("%s: %v", k.name, err)
			k.sleep(ctx)
		case !alive:
			k.await(ctx)
		case k.follow(ctx, process):
			k.logf("%s: process %d ended", k.name, process.PID)
			if time.Since(started) > goodRun {
				k.pause = firstPause
			}
			k.sleep(ctx)
		}
	}
}

// settle makes the daemon what it is wanted to be and tells whether it runs.
func (k *keeper) settle() (process state.Process, alive bool, err error) {
	release, err := k.daemons.Lock()
	if err != nil {
		return state.Process{}, false, err
	}
	defer release()
	daemon, found, err := k.daemons.Get(k.name)
	if err != nil || !found {
		return state.Process{}, false, err
	}
	process, alive = k.daemons.Running(k.name)
	if alive && (daemon.Stopped || process.Spec != daemon.Hash()) {
		k.logf("%s: ending process %d", k.name, process.PID)
		if err := host.End(process, endGrace); err != nil {
			return process, true, err
		}
		alive = false
	}
	if alive || daemon.Stopped {
		return process, alive, nil
	}
	process, err = k.start(daemon)
	return process, err == nil, err
}

// follow returns true when the process has ended and false when something else is to be looked at.
func (k *keeper) follow(ctx context.Context, process state.Process) bool {
	for ctx.Err() == nil {
		select {
		case <-k.wake:
			return false
		default:
		}
		if host.Wait(process, 200*time.Millisecond) {
			return true
		}
	}
	return false
}

// await waits for a change of what is wanted.
func (k *keeper) await(ctx context.Context) {
	select {
	case <-ctx.Done():
	case <-k.wake:
	}
}

// sleep pauses before the next start, longer after each failure.
func (k *keeper) sleep(ctx context.Context) {
	timer := time.NewTimer(k.pause)
	defer timer.Stop()
	k.pause = min(2*k.pause, longPause)
	select {
	case <-ctx.Done():
	case <-k.wake:
		k.pause = firstPause
	case <-timer.C:
	}
}

func (k *keeper) start(daemon state.Daemon) (state.Process, error) {
	log, err := openLog(k.cluster.Path("logs", daemon.Name+".log"))
	if err != nil {
		return state.Process{}, err
	}
	defer log.Close()
	args := []string{"enter", "--cgroup", k.cluster.DaemonCgroup(daemon.Name), "--record", k.daemons.RecordPath(daemon.Name),
		"--spec", daemon.Hash(), "--netns", daemon.Netns, "--"}
	cmd := exec.Command(k.tool, append(args, daemon.Args...)...)
	cmd.Env = append(os.Environ(), daemon.Env...)
	cmd.Dir = k.cluster.Dir()
	cmd.Stdout, cmd.Stderr = log, log
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if daemon.Listen != "" {
		listener, err := net.Listen("tcp", daemon.Listen)
		if err != nil {
			return state.Process{}, err
		}
		defer listener.Close()
		file, err := listener.(*net.TCPListener).File()
		if err != nil {
			return state.Process{}, err
		}
		defer file.Close()
		cmd.ExtraFiles = []*os.File{file}
	}
	if err := cmd.Start(); err != nil {
		return state.Process{}, fmt.Errorf("start: %w", err)
	}
	process, err := state.Of(cmd.Process.Pid)
	// Somebody has to take the exit status, or the process stays in the table.
	go func() { _ = cmd.Wait() }()
	if err != nil {
		return state.Process{}, fmt.Errorf("ended at once: %w", err)
	}
	process.Spec = daemon.Hash()
	// The process writes the same record, for the case that this one dies now; but it may not have come so far when the
	// next look is taken.
	if _, err := state.WriteJSON(k.daemons.RecordPath(daemon.Name), process); err != nil {
		return process, err
	}
	k.logf("%s: started process %d", daemon.Name, process.PID)
	return process, nil
}

func openLog(path string) (*os.File, error) {
	if info, err := os.Stat(path); err == nil && info.Size() > logLimit {
		if err := os.Rename(path, path+".old"); err != nil {
			return nil, err
		}
	}
	return os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
}
