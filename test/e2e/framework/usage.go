// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package framework

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// Usage is what a process has used.
type Usage struct {
	// KiB is its resident memory, CPU what it has computed since its start.
	KiB int
	CPU time.Duration
}

// clockTick is the unit of /proc/*/stat.
const clockTick = 10 * time.Millisecond

// ControllerUsage is what the controller's process has used so far.
func (e *Env) ControllerUsage(t *testing.T) Usage {
	t.Helper()
	used := slices.Collect(maps.Values(ContainerUsage(t, e.ControllerPod(t), "controller")))
	if len(used) != 1 {
		t.Fatalf("the controller has %d processes", len(used))
	}
	return used[0]
}

// ContainerUsage is what each process of a container has used so far, by the name of its program.
func ContainerUsage(t *testing.T, pod *corev1.Pod, container string) map[string]Usage {
	t.Helper()
	used := map[string]Usage{}
	for _, process := range processesOf(t, pod, container) {
		name, err := os.ReadFile(filepath.Join(process, "comm"))
		if err != nil {
			continue // it has ended
		}
		if usage, err := usageOf(process); err == nil {
			used[strings.TrimSpace(string(name))] = usage
		}
	}
	return used
}

// Connections is how many TCP connections there are in the network of a container.
func Connections(t *testing.T, pod *corev1.Pod, container string) int {
	t.Helper()
	const established = " 01 "
	processes := processesOf(t, pod, container)
	if len(processes) == 0 {
		t.Fatalf("container %s of %s has no process", container, pod.Name)
	}
	count := 0
	for _, family := range []string{"tcp", "tcp6"} {
		text, err := os.ReadFile(filepath.Join(processes[0], "net", family)) // every process sees the same network
		if err != nil {
			t.Fatal(err)
		}
		count += strings.Count(string(text), established)
	}
	return count
}

// processesOf are the directories below /proc of a container's processes.
func processesOf(t *testing.T, pod *corev1.Pod, container string) []string {
	t.Helper()
	id := ""
	for i := range pod.Status.ContainerStatuses {
		if status := &pod.Status.ContainerStatuses[i]; status.Name == container {
			id = strings.TrimPrefix(status.ContainerID, "containerd://")
		}
	}
	groups, err := filepath.Glob("/proc/[0-9]*/cgroup")
	if err != nil || id == "" {
		t.Fatalf("container %s of %s has the id %q; %v", container, pod.Name, id, err)
	}
	var found []string
	for _, file := range groups {
		if text, err := os.ReadFile(file); err == nil && strings.Contains(string(text), id) {
			found = append(found, filepath.Dir(file))
		}
	}
	return found
}

func usageOf(process string) (Usage, error) {
	var usage Usage
	status, err := os.ReadFile(filepath.Join(process, "status"))
	if err != nil {
		return usage, err
	}
	_, after, _ := strings.Cut(string(status), "VmRSS:")
	if _, err := fmt.Sscan(after, &usage.KiB); err != nil {
		return usage, fmt.Errorf("resident memory: %w", err)
	}
	stat, err := os.ReadFile(filepath.Join(process, "stat"))
	if err != nil {
		return usage, err
	}
	// The name of the program, which is in brackets, may hold anything; the times in user and kernel mode are the 12th and 13th after it.
	fields := strings.Fields(string(stat[strings.LastIndex(string(stat), ")")+1:]))
	for _, at := range []int{11, 12} {
		ticks, err := strconv.ParseInt(fields[at], 10, 64)
		if err != nil {
			return usage, fmt.Errorf("time computed: %w", err)
		}
		usage.CPU += time.Duration(ticks) * clockTick
	}
	return usage, nil
}
