// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package host

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

const cgroupMount = "/sys/fs/cgroup"

// Cgroups are the cgroup hierarchies of the machine, of version 1 or 2.
type Cgroups struct {
	// Unified is true for version 2.
	Unified     bool
	hierarchies []string
}

// FindCgroups looks at what is mounted.
func FindCgroups() (Cgroups, error) {
	var st unix.Statfs_t
	if err := unix.Statfs(cgroupMount, &st); err != nil {
		return Cgroups{}, fmt.Errorf("no cgroups at %s: %w", cgroupMount, err)
	}
	if st.Type == unix.CGROUP2_SUPER_MAGIC {
		return Cgroups{Unified: true, hierarchies: []string{cgroupMount}}, nil
	}
	mounts, err := Mounts()
	if err != nil {
		return Cgroups{}, err
	}
	var g Cgroups
	for _, m := range mounts {
		if m.Type == "cgroup" && filepath.Dir(m.Path) == cgroupMount {
			g.hierarchies = append(g.hierarchies, m.Path)
		}
	}
	if len(g.hierarchies) == 0 {
		return Cgroups{}, fmt.Errorf("no cgroup hierarchy is mounted below %s", cgroupMount)
	}
	return g, nil
}

// tracking is the hierarchy in which daemons are kept track of. On version 1 it is one that limits nothing by itself.
func (g Cgroups) tracking() string {
	for _, name := range []string{"freezer", "pids"} {
		if path := filepath.Join(cgroupMount, name); slices.Contains(g.hierarchies, path) {
			return path
		}
	}
	return g.hierarchies[0]
}

// Create makes a cgroup for pods in every hierarchy.
func (g Cgroups) Create(cgroup string) error {
	for _, hierarchy := range g.hierarchies {
		parent := hierarchy
		for name := range strings.SplitSeq(strings.Trim(cgroup, "/"), "/") {
			if g.Unified {
				if err := delegate(parent); err != nil {
					return err
				}
			}
			child := filepath.Join(parent, name)
			if err := os.MkdirAll(child, 0o755); err != nil {
				return fmt.Errorf("make cgroup: %w", err)
			}
			if err := inheritCpuset(parent, child); err != nil {
				return err
			}
			parent = child
		}
	}
	return nil
}

// inheritCpuset gives a version 1 cpuset the processors of its parent: it starts with none, and nothing can run in it.
func inheritCpuset(parent, child string) error {
	for _, file := range []string{"cpuset.cpus", "cpuset.mems"} {
		value, err := os.ReadFile(filepath.Join(parent, file))
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil {
			return err
		}
		own, err := os.ReadFile(filepath.Join(child, file))
		if err != nil || len(strings.TrimSpace(string(own))) > 0 {
			return err
		}
		if err := os.WriteFile(filepath.Join(child, file), value, 0); err != nil {
			return fmt.Errorf("set %s of %s: %w", file, child, err)
		}
	}
	return nil
}

// delegate lets the children of a version 2 cgroup have the controllers that it has.
func delegate(cgroup string) error {
	available, err := os.ReadFile(filepath.Join(cgroup, "cgroup.controllers"))
	if err != nil {
		return err
	}
	for controller := range strings.FieldsSeq(string(available)) {
		// Some controllers cannot be delegated where real-time processes run; the kubelet names those it misses.
		_ = os.WriteFile(filepath.Join(cgroup, "cgroup.subtree_control"), []byte("+"+controller), 0)
	}
	return nil
}

// Join moves a process into a tracking cgroup, which is made when missing.
func (g Cgroups) Join(cgroup string, pid int) error {
	dir := filepath.Join(g.tracking(), cgroup)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("make cgroup: %w", err)
	}
	return os.WriteFile(filepath.Join(dir, "cgroup.procs"), []byte(strconv.Itoa(pid)), 0)
}

// Processes lists the processes in a cgroup and in all below it.
func (g Cgroups) Processes(cgroup string) []int {
	var pids []int
	for _, dir := range g.folders(cgroup) {
		content, err := os.ReadFile(filepath.Join(dir, "cgroup.procs"))
		if err != nil {
			continue
		}
		for line := range strings.FieldsSeq(string(content)) {
			if pid, err := strconv.Atoi(line); err == nil && pid > 0 {
				pids = append(pids, pid)
			}
		}
	}
	slices.Sort(pids)
	return slices.Compact(pids)
}

// folders lists a cgroup and those below it in all hierarchies, the deepest first.
func (g Cgroups) folders(cgroup string) []string {
	var dirs []string
	for _, hierarchy := range append(slices.Clone(g.hierarchies), filepath.Join(cgroupMount, "unified")) {
		_ = filepath.WalkDir(filepath.Join(hierarchy, cgroup), func(path string, entry fs.DirEntry, err error) error {
			if err == nil && entry.IsDir() {
				dirs = append(dirs, path)
			}
			return nil
		})
	}
	slices.SortFunc(dirs, func(a, b string) int { return strings.Count(b, "/") - strings.Count(a, "/") })
	return dirs
}

// Kill ends all processes in a cgroup at once and waits until none is left.
func (g Cgroups) Kill(cgroup string, within time.Duration) error {
	deadline := time.Now().Add(within)
	for {
		pids := g.Processes(cgroup)
		if len(pids) == 0 {
			return nil
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("processes %v in cgroup %s do not end", pids, cgroup)
		}
		g.thaw(cgroup)
		for _, pid := range pids {
			_ = unix.Kill(pid, unix.SIGKILL)
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// thaw lets frozen processes go on: a frozen one does not even end.
func (g Cgroups) thaw(cgroup string) {
	for _, dir := range g.folders(cgroup) {
		_ = os.WriteFile(filepath.Join(dir, "freezer.state"), []byte("THAWED"), 0)
		_ = os.WriteFile(filepath.Join(dir, "cgroup.freeze"), []byte("0"), 0)
	}
}

// Remove removes an empty cgroup and those below it.
func (g Cgroups) Remove(cgroup string, within time.Duration) error {
	deadline := time.Now().Add(within)
	for {
		var last error
		for _, dir := range g.folders(cgroup) {
			if err := unix.Rmdir(dir); err != nil && !errors.Is(err, unix.ENOENT) {
				last = fmt.Errorf("remove cgroup %s: %w", dir, err)
			}
		}
		if last == nil || time.Now().After(deadline) {
			return last
		}
		// The kernel lets go of a cgroup a moment after its last process has ended.
		time.Sleep(20 * time.Millisecond)
	}
}

// Exists tells whether a hierarchy has the cgroup.
func (g Cgroups) Exists(cgroup string) bool { return len(g.folders(cgroup)) > 0 }
