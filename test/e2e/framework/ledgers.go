// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package framework

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"
)

// Ledgers write at the same time, each with its own client.
type Ledgers map[string]*Ledger

// Ledgers begins one ledger for each name, which is the first part of its keys, by its route, and waits until all of them write.
func (c *Client) Ledgers(t *testing.T, routes map[string][]string) Ledgers {
	t.Helper()
	all := Ledgers{}
	for _, name := range slices.Sorted(maps.Keys(routes)) {
		all[name] = c.begin(t, name, append(routes[name], "-progress")...)
	}
	for _, name := range slices.Sorted(maps.Keys(all)) {
		all[name].stderr.await(t)
	}
	return all
}

// WaitWriting waits until every one of them has got writes acknowledged from now on.
func (all Ledgers) WaitWriting(t *testing.T, patience time.Duration) {
	t.Helper()
	since := map[string]int{}
	for name, l := range all {
		since[name] = l.acknowledgements()
	}
	for name, l := range all {
		Eventually(t, patience, name+" writes", func() error {
			// The first that is said after this may be of before.
			if now := l.acknowledgements(); now < since[name]+2 {
				return fmt.Errorf("it has not said since that writes are acknowledged: %s", l.stderr.tail())
			}
			return nil
		})
	}
}

// acknowledgements is how often the ledger has said that more writes were acknowledged.
func (l *Ledger) acknowledgements() int {
	l.stderr.Lock()
	defer l.stderr.Unlock()
	return strings.Count(l.stderr.printed.String(), "\nacknowledged ")
}

// tail is the last thing that was printed.
func (w *watched) tail() string {
	w.Lock()
	defer w.Unlock()
	text := strings.TrimSpace(w.printed.String())
	return text[max(0, len(text)-300):]
}

// Close is Ledger.Close of all of them, at the same time.
func (all Ledgers) Close(t *testing.T, s *Set) map[string]Summary {
	t.Helper()
	members := map[string]int{}
	for name, l := range all {
		members[name] = l.tell(t, s)
	}
	sums := map[string]Summary{}
	for name, l := range all {
		sums[name] = l.collect(t, members[name])
	}
	return sums
}

// All makes a change while several clients write, each by its route, and waits until the set is ready again and each of them writes again.
// Planned, it must lose nothing; else nothing that is older than Unreplicated.
func (s *Set) All(t *testing.T, c *Client, routes map[string][]string, planned bool, change func()) map[string]Summary {
	t.Helper()
	all := c.Ledgers(t, routes)
	change()
	s.WaitReady(t, 3*time.Minute)
	all.WaitWriting(t, time.Minute)
	sums := all.Close(t, s)
	for _, name := range slices.Sorted(maps.Keys(sums)) {
		sum := sums[name]
		t.Logf("%s: %d writes acknowledged, %d failed, longest gap %d ms, %d lost", name, sum.Acknowledged, sum.Failed, sum.MaxGapMillis, sum.Lost)
		if planned {
			sum.judgePlanned(t)
		} else {
			sum.judgeCrash(t)
		}
	}
	return sums
}
