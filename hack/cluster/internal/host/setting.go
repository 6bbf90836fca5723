// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package host

import (
	"fmt"
	"os"
	"strings"

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

// SaveSettings writes down the machine's settings, unless an earlier cluster did, and then sets those that are needed.
func SaveSettings(record string) error {
	if _, err := os.Stat(record); err != nil {
		saved := map[string]string{}
		for name := range machineSettings {
			if value, err := os.ReadFile("/proc/sys/" + name); err == nil {
				saved[name] = strings.TrimSpace(string(value))
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
		if err := os.WriteFile("/proc/sys/"+name, []byte(value), 0); err != nil {
			return fmt.Errorf("set %s: %w", name, err)
		}
	}
	return nil
}

// RestoreSettings puts back what SaveSettings wrote down.
func RestoreSettings(record string) error {
	saved := map[string]string{}
	if err := state.ReadJSON(record, &saved); err != nil {
		if os.IsNotExist(err) {
			return nil
		}
		return err
	}
	for name, value := range saved {
		if now, err := os.ReadFile("/proc/sys/" + name); err == nil && strings.TrimSpace(string(now)) == value {
			continue
		}
		if err := os.WriteFile("/proc/sys/"+name, []byte(value), 0); err != nil {
			return fmt.Errorf("restore %s: %w", name, err)
		}
	}
	return os.Remove(record)
}
