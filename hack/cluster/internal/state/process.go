// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package state

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"strings"
)

// Process names one process and no other: a pid that was given out again has another start time.
type Process struct {
	PID int `json:"pid"`
	// Start is when the process started, in clock ticks since the machine did.
	Start uint64 `json:"start"`
	// Boot is the machine's run in which it was started.
	Boot string `json:"boot"`
	// Spec is the hash of what the process was started from.
	Spec string `json:"spec,omitempty"`
}

// Of identifies the process that now has the pid.
func Of(pid int) (Process, error) {
	start, _, err := stat(pid)
	if err != nil {
		return Process{}, err
	}
	return Process{PID: pid, Start: start, Boot: BootID()}, nil
}

// Alive tells whether the process is still there and not only waiting to be reaped.
func (p Process) Alive() bool {
	if p.PID <= 0 || p.Boot != BootID() {
		return false
	}
	start, status, err := stat(p.PID)
	return err == nil && start == p.Start && status != 'Z' && status != 'X'
}

// BootID identifies the machine's current run.
func BootID() string {
	id, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(id))
}

func stat(pid int) (start uint64, status byte, err error) {
	line, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, 0, err
	}
	return parseStat(line)
}

// parseStat reads the start time (field 22) and the status (field 3). The second field is the program's name in
// parentheses and may hold anything, so fields are counted from its end.
func parseStat(line []byte) (start uint64, status byte, err error) {
	end := bytes.LastIndexByte(line, ')')
	if end < 0 {
		return 0, 0, fmt.Errorf("no program name in %q", line)
	}
	fields := strings.Fields(string(line[end+1:]))
	if len(fields) < 20 {
		return 0, 0, fmt.Errorf("%d fields after the program name, want 20", len(fields))
	}
	start, err = strconv.ParseUint(fields[19], 10, 64)
	return start, fields[0][0], err
}
