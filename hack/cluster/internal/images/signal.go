// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package images

import (
	"fmt"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// Container is a running container as Kubernetes names it.
type Container struct {
	Namespace, Pod, Name string
	// Program, if set, is the name of the only one of its programs that is meant.
	Program string
}

// Signal sends a signal, such as SIGKILL or SIGSTOP, to all processes of a container, or to those of one program; found is whether this runtime
// runs it.
func (r Runtime) Signal(c Container, signal string) (found bool, err error) {
	filter := fmt.Sprintf(`labels."io.kubernetes.pod.namespace"==%s,labels."io.kubernetes.pod.name"==%s,labels."io.kubernetes.container.name"==%s`,
		c.Namespace, c.Pod, c.Name)
	out, err := r.ctr("containers", "list", "--quiet", filter)
	if err != nil {
		return false, err
	}
	tasks, err := r.ctr("tasks", "list")
	if err != nil {
		return false, err
	}
	running := map[string]bool{}
	for line := range strings.Lines(tasks) {
		if fields := strings.Fields(line); len(fields) == 3 && fields[2] != "STOPPED" {
			running[fields[0]] = true
		}
	}
	for id := range strings.FieldsSeq(out) {
		if !running[id] {
			continue
		}
		if c.Program != "" {
			return true, r.signalProgram(id, c.Program, signal)
		}
		if _, err := r.ctr("tasks", "kill", "--all", "--signal", signal, id); err != nil {
			return found, err
		}
		found = true
	}
	return found, nil
}

// signalProgram signals those processes of a container that run a program.
func (r Runtime) signalProgram(id, program, signal string) error {
	number := unix.SignalNum(signal)
	if number == 0 {
		return fmt.Errorf("no such signal: %s", signal)
	}
	listed, err := r.ctr("tasks", "ps", id)
	if err != nil {
		return err
	}
	found := false
	for line := range strings.Lines(listed) {
		pid, err := strconv.Atoi(strings.Fields(line + " -")[0])
		if err != nil {
			continue // the heading
		}
		if name, err := os.ReadFile(fmt.Sprintf("/proc/%d/comm", pid)); err != nil || strings.TrimSpace(string(name)) != program {
			continue
		}
		if err := unix.Kill(pid, number); err != nil {
			return fmt.Errorf("signal %s, process %d: %w", program, pid, err)
		}
		found = true
	}
	if !found {
		return fmt.Errorf("no process of container %s runs %s", id, program)
	}
	return nil
}
