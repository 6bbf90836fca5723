// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package images

import (
	"fmt"
	"strings"
)

// Container is a running container as Kubernetes names it.
type Container struct {
	Namespace, Pod, Name string
}

// Signal sends a signal, such as SIGKILL or SIGSTOP, to all processes of a container; found is whether this runtime runs it.
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
		if _, err := r.ctr("tasks", "kill", "--all", "--signal", signal, id); err != nil {
			return found, err
		}
		found = true
	}
	return found, nil
}
