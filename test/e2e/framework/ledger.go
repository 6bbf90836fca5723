// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package framework

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"
)

// ledgerPatience is how long a ledger may write.
const ledgerPatience = 10 * time.Minute

// beginWithin is how long the client may take until it does what it is started for: to start a process in a pod takes its time on a busy machine.
const beginWithin = time.Minute

// Unreplicated is how old an acknowledged write may be that a crash loses: replication does not wait for replicas, and lags on a busy machine.
const Unreplicated = time.Second

// Ledger is a client that writes unique values and remembers which were acknowledged.
type Ledger struct {
	cmd    *exec.Cmd
	stdin  io.WriteCloser
	stdout bytes.Buffer
	stderr *watched
}

// Summary is what became of the writes of a Ledger.
type Summary struct {
	Attempted, Acknowledged, Failed, ReadOnly, Lost int
	LostKeys, Errors                                []string
	// LostWithinMillis is how long before the longest gap the first lost write had been acknowledged.
	LostWithinMillis int64
	// MissingOn is how many acknowledged writes each member that was asked does not hold.
	MissingOn    map[string]int
	MaxGapMillis int64
	// ReadBack is how many of the acknowledged writes the client read back itself.
	ReadBack int
	// Registers is the verdict on the registers that were written to as well: "linearizable", "violated" or "undecided".
	Registers   string
	RegisterOps int
}

// watched keeps what a process prints and says when it first said a word.
type watched struct {
	sync.Mutex
	word    string
	printed bytes.Buffer
	began   chan struct{}
	seen    bool
}

func (w *watched) Write(p []byte) (int, error) {
	w.Lock()
	defer w.Unlock()
	n, err := w.printed.Write(p)
	if !w.seen && strings.Contains(w.printed.String(), w.word) {
		w.seen = true
		close(w.began)
	}
	return n, err
}

func (w *watched) await(t *testing.T) {
	t.Helper()
	select {
	case <-w.began:
	case <-time.After(beginWithin):
		w.Lock()
		defer w.Unlock()
		t.Fatalf("the client did not say %q within %s, but %q", w.word, beginWithin, w.printed.String())
	}
}

// Ledger begins to write by a route: "-addr", host:port or "-sentinels", list, "-name", monitor. More flags of the ledger may follow.
func (c *Client) Ledger(t *testing.T, prefix string, route ...string) *Ledger {
	t.Helper()
	l := c.begin(t, prefix, route...)
	l.stderr.await(t)
	return l
}

// begin is Ledger that does not wait for the first write.
func (c *Client) begin(t *testing.T, prefix string, route ...string) *Ledger {
	t.Helper()
	args := []string{"exec", "-i", "-n", c.namespace, c.pod, "--", "/testclient", "ledger", "-prefix", prefix, "-for", ledgerPatience.String()}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), ledgerPatience+time.Minute)
	t.Cleanup(cancel)
	l := &Ledger{cmd: exec.CommandContext(ctx, "kubectl", append(args, route...)...), stderr: &watched{word: "first write acknowledged", began: make(chan struct{})}}
	stdin, err := l.cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	l.stdin, l.cmd.Stdout, l.cmd.Stderr = stdin, &l.stdout, l.stderr
	if err := l.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return l
}

// Close ends the writing, reads every acknowledged write back from the primary, and from every member of the set unless it is nil, and returns
// what was found.
func (l *Ledger) Close(t *testing.T, s *Set) Summary {
	t.Helper()
	return l.collect(t, l.tell(t, s))
}

// tell ends the writing, and says which members to read back from; it returns how many they are.
func (l *Ledger) tell(t *testing.T, s *Set) (members int) {
	t.Helper()
	if s != nil {
		for _, m := range s.Get(t).Status.Members {
			members++
			if _, err := fmt.Fprintln(l.stdin, s.Address(m.Node)); err != nil {
				t.Errorf("ledger: %v", err)
			}
		}
	}
	_ = l.stdin.Close()
	return members
}

// collect waits for what was found, and judges what no client may do.
func (l *Ledger) collect(t *testing.T, members int) Summary {
	t.Helper()
	if err := l.cmd.Wait(); err != nil {
		t.Fatalf("ledger: %v: %s", err, l.stderr.printed.String())
	}
	var sum Summary
	if err := json.Unmarshal(l.stdout.Bytes(), &sum); err != nil {
		t.Fatal(err)
	}
	t.Logf("ledger: %+v", sum)
	if sum.Acknowledged == 0 {
		t.Error("the ledger holds no acknowledged write: it shows nothing")
	}
	if sum.ReadBack != sum.Acknowledged-sum.Lost {
		t.Errorf("of %d acknowledged writes the primary lacks %d, and the client that wrote them read back %d", sum.Acknowledged, sum.Lost, sum.ReadBack)
	}
	if len(sum.MissingOn) != members {
		t.Errorf("the ledger was read back from %d members, not from %d", len(sum.MissingOn), members)
	}
	for member, missing := range sum.MissingOn {
		if missing > sum.Lost {
			t.Errorf("%s lacks %d acknowledged writes, the primary %d", member, missing, sum.Lost)
		}
	}
	switch sum.Registers {
	case "", "linearizable":
	default:
		t.Errorf("the writes to the registers, %d, are %s: %s", sum.RegisterOps, sum.Registers, l.stderr.printed.String())
	}
	return sum
}

// Planned makes a planned change under a ledger: every acknowledged write must be on every member afterwards, and the writes to a few registers
// must be those that one primary could have taken, one after the other.
func (s *Set) Planned(t *testing.T, c *Client, prefix string, route []string, change func()) Summary {
	t.Helper()
	l := c.Ledger(t, prefix, append(route, "-registers")...)
	change()
	s.WaitReady(t, 3*time.Minute)
	sum := l.Close(t, s)
	sum.judgePlanned(t)
	if sum.RegisterOps == 0 {
		t.Error("nothing was written to the registers")
	}
	return sum
}

func (sum *Summary) judgePlanned(t *testing.T) {
	t.Helper()
	if sum.Lost != 0 {
		t.Errorf("a planned change lost %d acknowledged writes: %v", sum.Lost, sum.LostKeys)
	}
}

// Crash does harm under a ledger: what is older than Unreplicated must not be lost.
func (s *Set) Crash(t *testing.T, c *Client, prefix string, route []string, harm func()) Summary {
	t.Helper()
	l := c.Ledger(t, prefix, route...)
	harm()
	s.WaitReady(t, 3*time.Minute)
	sum := l.Close(t, s)
	sum.judgeCrash(t)
	return sum
}

func (sum *Summary) judgeCrash(t *testing.T) {
	t.Helper()
	if sum.LostWithinMillis > Unreplicated.Milliseconds() {
		t.Errorf("%d acknowledged writes are lost, the first of them %d ms old at the crash", sum.Lost, sum.LostWithinMillis)
	}
}
