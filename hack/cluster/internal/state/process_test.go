// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package state

import (
	"fmt"
	"os"
	"os/exec"
	"testing"
)

func TestParseStat(t *testing.T) {
	tail := " 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 4242 20 21"
	cases := map[string]struct {
		line    string
		start   uint64
		status  byte
		wantErr bool
	}{
		"plain":                      {line: "7 (etcd) S" + tail, start: 4242, status: 'S'},
		"name with blanks and signs": {line: "7 (a ) b (c) S) Z" + tail, start: 4242, status: 'Z'},
		"cut off":                    {line: "7 (etcd) S 1 2", wantErr: true},
		"no name":                    {line: "7 etcd S", wantErr: true},
		"empty":                      {line: "", wantErr: true},
		"start is no number":         {line: "7 (etcd) S 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 x", wantErr: true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			start, status, err := parseStat([]byte(tc.line))
			if (err != nil) != tc.wantErr {
				t.Fatalf("error %v, want one: %v", err, tc.wantErr)
			}
			if err == nil && (start != tc.start || status != tc.status) {
				t.Errorf("start %d status %c, want %d %c", start, status, tc.start, tc.status)
			}
		})
	}
}

func TestAliveIsAboutOneProcess(t *testing.T) {
	self, err := Of(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	if !self.Alive() {
		t.Fatal("this process is not alive")
	}
	for name, other := range map[string]Process{
		"another start":   {PID: self.PID, Start: self.Start + 1, Boot: self.Boot},
		"another boot":    {PID: self.PID, Start: self.Start, Boot: "before"},
		"nothing at all":  {},
		"every process":   {PID: -1, Start: self.Start, Boot: self.Boot},
		"a missing start": {PID: self.PID, Boot: self.Boot},
	} {
		if other.Alive() {
			t.Errorf("%s: %+v is alive", name, other)
		}
	}
}

func TestEndedProcessIsNotAlive(t *testing.T) {
	cmd := exec.Command("cat")
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	process, err := Of(cmd.Process.Pid)
	if err != nil || !process.Alive() {
		t.Fatalf("alive %v, %v", process.Alive(), err)
	}
	in.Close()
	// Not waited for yet, it stays in the process table; once it has ended it counts as gone all the same.
	for range 1000 {
		if _, status, err := stat(process.PID); err == nil && status == 'Z' {
			break
		}
		if out, err := exec.Command("sleep", "0.01").CombinedOutput(); err != nil {
			t.Fatal(fmt.Errorf("%w: %s", err, out))
		}
	}
	if process.Alive() {
		t.Error("an ended process that nobody has waited for is alive")
	}
	if err := cmd.Wait(); err != nil {
		t.Fatal(err)
	}
	if process.Alive() {
		t.Error("an ended process is alive")
	}
}
