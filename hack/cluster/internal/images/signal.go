// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package images

import (
	"fmt"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/valkeykube/valkeykube/hack/cluster/internal/host"
)

// Container is a running container as Kubernetes names it.
type Container struct {
	Namespace, Pod, Name string
}

// tasks are the containers that run, with the process id of their first process, by containerd's name.
func (r Runtime) tasks(c Container) (map[string]int, error) {
	filter := fmt.Sprintf(`labels."io.kubernetes.pod.namespace"==%s,labels."io.kubernetes.pod.name"==%s,labels."io.kubernetes.container.name"==%s`,
		c.Namespace, c.Pod, c.Name)
	out, err := r.ctr("containers", "list", "--quiet", filter)
	if err != nil {
		return nil, err
	}
	listed, err := r.ctr("tasks", "list")
	if err != nil {
		return nil, err
	}
	meant := strings.Fields(out)
	running := map[string]int{}
	for line := range strings.Lines(listed) {
		fields := strings.Fields(line)
		if len(fields) != 3 || fields[2] == "STOPPED" {
			continue
		}
		for _, id := range meant {
			if pid, err := strconv.Atoi(fields[1]); err == nil && id == fields[0] {
				running[id] = pid
			}
		}
	}
	return running, nil
}

// Signal sends a signal, such as SIGKILL or SIGSTOP, to all processes of a container, or to those that run a program where one is named; found is
// whether this runtime runs the container.
func (r Runtime) Signal(c Container, program, signal string) (found bool, err error) {
	tasks, err := r.tasks(c)
	if err != nil {
		return false, err
	}
	for id := range tasks {
		if program != "" {
			return true, r.signalProgram(id, program, signal)
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

// family is nft's word for the kind of an address.
func family(address string) string {
	if strings.Contains(address, ":") {
		return "ip6"
	}
	return "ip"
}

// blocked is the table of rules in a pod's network that Block makes.
const blocked = "valkeykube_blocked"

// Block drops what a container's pod is sent from an address to a port; without an address it undoes all that was blocked. found is whether this
// runtime runs the container.
func (r Runtime) Block(c Container, from, port string) (found bool, err error) {
	tasks, err := r.tasks(c)
	if err != nil {
		return false, err
	}
	for _, pid := range tasks {
		rules := fmt.Sprintf("add table inet %[1]s; delete table inet %[1]s;", blocked)
		if from != "" {
			rules += fmt.Sprintf(" add table inet %[1]s; add chain inet %[1]s input { type filter hook input priority 0; };"+
				" add rule inet %[1]s input %[4]s saddr %[2]s tcp dport %[3]s drop;", blocked, from, port, family(from))
		}
		if _, err := host.Output("nsenter", "--target", strconv.Itoa(pid), "--net", "nft", rules); err != nil {
			return true, err
		}
		found = true
	}
	return found, nil
}
