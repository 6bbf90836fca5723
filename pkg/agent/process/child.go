// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package process

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"sync"
	"syscall"
)

// Options says what to run.
type Options struct {
	// Path of the executable, and its arguments. No secret may be among them: anybody on the machine can read them.
	Path string
	Args []string
	// Dir is the working directory.
	Dir string
	// ReapAll collects every dead process, not only this one: for pid 1, which inherits the orphans of the container. It must
	// not be set where anything else in this process starts children.
	ReapAll bool
}

// Child is a process that was started.
type Child struct {
	pid  int
	done chan struct{}

	mu     sync.Mutex // also keeps a status from being collected before the child is known
	status syscall.WaitStatus
	ended  bool
}

// Find is the first of the names in PATH and where Valkey images have their binaries.
func Find(names ...string) (string, error) {
	for _, name := range names {
		if path, err := exec.LookPath(name); err == nil {
			return path, nil
		}
		for _, dir := range []string{"/usr/local/bin", "/usr/bin"} {
			if path, err := exec.LookPath(filepath.Join(dir, name)); err == nil {
				return path, nil
			}
		}
	}
	return "", fmt.Errorf("none of %q is in PATH, /usr/local/bin or /usr/bin: is this a Valkey image?", names)
}

// Start runs the process with this one's standard output, error and environment, and no input.
func Start(options Options) (*Child, error) {
	null, err := os.Open(os.DevNull)
	if err != nil {
		return nil, err
	}
	defer func() { _ = null.Close() }()
	c := &Child{done: make(chan struct{})}
	deaths := make(chan os.Signal, 1)
	if options.ReapAll {
		signal.Notify(deaths, syscall.SIGCHLD)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	child, err := os.StartProcess(options.Path, append([]string{options.Path}, options.Args...), &os.ProcAttr{
		Dir: options.Dir, Files: []*os.File{null, os.Stdout, os.Stderr},
	})
	if err != nil {
		signal.Stop(deaths)
		return nil, fmt.Errorf("start %s: %w", options.Path, err)
	}
	c.pid = child.Pid
	_ = child.Release() // it is waited for here, by pid
	if options.ReapAll {
		go c.reapAll(deaths)
	} else {
		go c.reapOne()
	}
	return c, nil
}

func (c *Child) reapOne() {
	var status syscall.WaitStatus
	for {
		pid, err := syscall.Wait4(c.pid, &status, 0, nil)
		if errors.Is(err, syscall.EINTR) {
			continue
		}
		if err != nil || pid == c.pid && (status.Exited() || status.Signaled()) {
			c.end(status)
			return
		}
	}
}

// reapAll collects whoever dies until the child does, and goes on after that: orphans die later than their parents.
func (c *Child) reapAll(deaths <-chan os.Signal) {
	for range deaths {
		for {
			c.mu.Lock()
			var status syscall.WaitStatus
			pid, err := syscall.Wait4(-1, &status, syscall.WNOHANG, nil)
			c.mu.Unlock()
			if errors.Is(err, syscall.EINTR) {
				continue
			}
			if err != nil || pid <= 0 {
				break
			}
			if pid == c.pid && (status.Exited() || status.Signaled()) {
				c.end(status)
			}
		}
	}
}

func (c *Child) end(status syscall.WaitStatus) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.ended {
		c.ended, c.status = true, status
		close(c.done)
	}
}

// PID of the process.
func (c *Child) PID() int { return c.pid }

// Done is closed when the process has ended.
func (c *Child) Done() <-chan struct{} { return c.done }

// Alive tells whether the process has not ended.
func (c *Child) Alive() bool {
	select {
	case <-c.done:
		return false
	default:
		return true
	}
}

// Signal passes a signal on. It does nothing when the process has ended.
func (c *Child) Signal(s syscall.Signal) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.ended {
		_ = syscall.Kill(c.pid, s)
	}
}

// ExitCode is the process's own, or 128 and the number of the signal that ended it, as shells have it. It waits for the end.
func (c *Child) ExitCode() int {
	<-c.done
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.status.Signaled() {
		return 128 + int(c.status.Signal())
	}
	return c.status.ExitStatus()
}
