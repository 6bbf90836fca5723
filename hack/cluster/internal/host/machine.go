// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package host

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/valkeykube/valkeykube/hack/cluster/internal/state"
)

// machineSettings are the settings of the whole machine that a kubelet changes, and those that three nodes on one machine
// need ("" keeps the value). They are put back when the last cluster goes.
var machineSettings = map[string]string{
	"vm/overcommit_memory":          "",
	"vm/panic_on_oom":               "",
	"kernel/panic":                  "",
	"kernel/panic_on_oops":          "",
	"kernel/keys/root_maxkeys":      "",
	"kernel/keys/root_maxbytes":     "",
	"fs/inotify/max_user_instances": "8192",
	"fs/inotify/max_user_watches":   "1048576",
}

// machinePlaces are folders that the programs of a cluster make outside of its own, whatever they are told.
var machinePlaces = []string{
	netnsDir,
	"/run/mount",
	"/run/containerd",
	"/var/lib/cni",
	"/var/lib/kubelet",
	"/var/log/containers",
	"/var/log/pods",
}

// machineRecord is what the machine was like before the first cluster.
type machineRecord struct {
	Settings map[string]string `json:"settings"`
	// Absent are the places that were not there.
	Absent []string `json:"absent"`
}

// SaveMachine writes down what the machine is like, unless that was done for an earlier cluster, and then sets what is
// needed.
func SaveMachine(record string) error {
	if _, err := os.Stat(record); err != nil {
		saved := machineRecord{Settings: map[string]string{}}
		for name := range machineSettings {
			if value, err := os.ReadFile("/proc/sys/" + name); err == nil {
				saved.Settings[name] = strings.TrimSpace(string(value))
			}
		}
		for _, place := range machinePlaces {
			if _, err := os.Lstat(place); os.IsNotExist(err) {
				saved.Absent = append(saved.Absent, place)
			}
		}
		if _, err := state.WriteJSON(record, saved); err != nil {
			return err
		}
	}
	for name, value := range machineSettings {
		if value == "" {
			continue
		}
		if err := writeSetting(name, value); err != nil {
			return err
		}
	}
	return nil
}

// RestoreMachine puts back what SaveMachine wrote down.
func RestoreMachine(record string) error {
	var saved machineRecord
	if err := state.ReadJSON(record, &saved); err != nil {
		if os.IsNotExist(err) {
			return nil
		}
		return err
	}
	for name, value := range saved.Settings {
		if err := writeSetting(name, value); err != nil {
			return err
		}
	}
	for _, place := range saved.Absent {
		if place == netnsDir {
			if entries, err := os.ReadDir(place); err == nil && len(entries) == 0 {
				// Making the first namespace mounts the folder on itself.
				_ = unix.Unmount(place, 0)
			}
		}
		removeHollow(place)
	}
	return os.Remove(record)
}

func writeSetting(name, value string) error {
	path := "/proc/sys/" + name
	if now, err := os.ReadFile(path); err == nil && strings.TrimSpace(string(now)) == value {
		return nil
	}
	if err := os.WriteFile(path, []byte(value), 0); err != nil {
		return fmt.Errorf("set %s: %w", name, err)
	}
	return nil
}

// removeHollow removes a folder as far as it and those below hold nothing but dead sockets. What somebody else has put
// there stays.
func removeHollow(dir string) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return
	}
	for _, entry := range entries {
		path := filepath.Join(dir, entry.Name())
		switch {
		case entry.IsDir():
			removeHollow(path)
		case entry.Type() == os.ModeSocket && isDead(path):
			_ = os.Remove(path)
		}
	}
	_ = unix.Rmdir(dir)
}
