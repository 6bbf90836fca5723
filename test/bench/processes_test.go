// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build integration

package bench

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

// clockTick is a hundredth of a second: the unit of /proc, fixed in Linux' interface.
const clockTick = 10 * time.Millisecond

// processes are the servers that are measured, by name.
type processes map[string]int

// children are the processes that this one has started, by command.
func children(t *testing.T) processes {
	t.Helper()
	found := processes{}
	files, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			continue
		}
		command, fields := statFields(string(text))
		if len(fields) < 2 || fields[1] != strconv.Itoa(os.Getpid()) {
			continue
		}
		pid, err := strconv.Atoi(filepath.Base(filepath.Dir(file)))
		if err != nil {
			t.Fatal(err)
		}
		found[command] = pid
	}
	return found
}

// statFields are the command, and what follows it, of a line of /proc/PID/stat.
func statFields(line string) (command string, fields []string) {
	from, to := strings.IndexByte(line, '('), strings.LastIndexByte(line, ')')
	if from < 0 || to < from {
		return "", nil
	}
	return line[from+1 : to], strings.Fields(line[to+1:])
}

// cpu is what all of them together have used so far.
func (p processes) cpu() (time.Duration, error) {
	var sum time.Duration
	for name, pid := range p {
		text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		if err != nil {
			return 0, fmt.Errorf("%s: %w", name, err)
		}
		_, fields := statFields(string(text))
		if len(fields) < 13 {
			return 0, fmt.Errorf("%s: cannot read %q", name, text)
		}
		for _, field := range fields[11:13] {
			ticks, err := strconv.ParseInt(field, 10, 64)
			if err != nil {
				return 0, fmt.Errorf("%s: %w", name, err)
			}
			sum += time.Duration(ticks) * clockTick
		}
	}
	return sum, nil
}

// rss is the resident memory of all of them together, in bytes.
func (p processes) rss() (int64, error) {
	var sum int64
	for name, pid := range p {
		text, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", pid))
		if err != nil {
			return 0, fmt.Errorf("%s: %w", name, err)
		}
		fields := strings.Fields(string(text))
		if len(fields) < 2 {
			return 0, fmt.Errorf("%s: cannot read %q", name, text)
		}
		pages, err := strconv.ParseInt(fields[1], 10, 64)
		if err != nil {
			return 0, fmt.Errorf("%s: %w", name, err)
		}
		sum += pages * int64(os.Getpagesize())
	}
	return sum, nil
}

// memory is what servers hold, in bytes.
type memory struct{ rss, heap int64 }

func (m memory) minus(other memory) memory { return memory{m.rss - other.rss, m.heap - other.heap} }

// memory is looked at after garbage collections in kube-apiserver and our server, when what these have freed is back with the kernel.
func (c *cluster) memory(ctx context.Context, t *testing.T) memory {
	t.Helper()
	const (
		steady = 1 << 20
		looks  = 30
	)
	before, calm := c.collected(ctx, t), 0
	for range looks {
		time.Sleep(500 * time.Millisecond)
		now := c.collected(ctx, t)
		if calm++; before.rss-now.rss > steady {
			calm = 0
		}
		if before = now; calm == 3 {
			break
		}
	}
	return before
}

func (c *cluster) collected(ctx context.Context, t *testing.T) memory {
	t.Helper()
	var held memory
	for _, base := range []string{c.admin.Host, c.serverURL()} {
		if _, err := c.direct(ctx, base+"/debug/pprof/heap?gc=1"); err != nil {
			t.Fatal(err)
		}
		text, err := c.direct(ctx, base+"/metrics")
		if err != nil {
			t.Fatal(err)
		}
		heap, err := metric(string(text), "go_memstats_heap_alloc_bytes")
		if err != nil {
			t.Fatalf("%s: %v", base, err)
		}
		held.heap += heap
	}
	var err error
	if held.rss, err = c.servers.rss(); err != nil {
		t.Fatal(err)
	}
	return held
}

func metric(text, name string) (int64, error) {
	for line := range strings.Lines(text) {
		if value, is := strings.CutPrefix(line, name+" "); is {
			number, err := strconv.ParseFloat(strings.TrimSpace(value), 64)
			return int64(number), err
		}
	}
	return 0, fmt.Errorf("no metric %s", name)
}
