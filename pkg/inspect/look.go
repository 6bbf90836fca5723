// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package inspect

import (
	"context"
	"sync"
	"time"

	"github.com/valkeykube/valkeykube/pkg/topology"
	"github.com/valkeykube/valkeykube/pkg/valkeyclient"
)

// Clients hands out clients; *valkeyclient.Client is one.
type Clients interface {
	Node(valkeyclient.Target) (valkeyclient.Node, error)
	Sentinel(valkeyclient.Target) (valkeyclient.Sentinel, error)
}

// Subject is what to look at.
type Subject struct {
	Members   []Member
	Sentinels []valkeyclient.Target
	// Monitor restricts the Sentinels' views to one monitor. Empty: all that they have.
	Monitor string
	// Peers asks each Sentinel also for the replicas and other Sentinels that it knows.
	Peers bool
}

// Member is a data member: how to reach it, and other hosts under which it may be reported (short names, pod IPs).
type Member struct {
	Target  valkeyclient.Target
	Aliases []string
}

// Inspector looks at sets. Its zero value with Clients is usable; it keeps no state and is safe for concurrent use.
type Inspector struct {
	Clients Clients
	// ProbeTimeout bounds the look at one process. Default 1 s.
	ProbeTimeout time.Duration
	// Deadline bounds the whole look. Default 5 s.
	Deadline time.Duration
	// Parallel bounds how many processes are asked at a time. Default 16.
	Parallel int
	// Now is the clock. Default time.Now.
	Now func() time.Time
}

// Look asks every process of the subject and returns what they said, in the subject's order. It never fails: a process
// that does not answer is in the snapshot with the reason. A dead process delays nobody beyond ProbeTimeout.
func (i Inspector) Look(ctx context.Context, subject Subject) topology.Snapshot {
	i = i.withDefaults()
	ctx, cancel := context.WithTimeout(ctx, i.Deadline)
	defer cancel()
	snapshot := topology.Snapshot{
		Members:   make([]topology.Member, len(subject.Members)),
		Sentinels: make([]topology.SentinelView, len(subject.Sentinels)),
	}
	turn := make(chan struct{}, i.Parallel)
	var all sync.WaitGroup
	probe := func(look func(ctx context.Context)) {
		all.Go(func() {
			select {
			case turn <- struct{}{}:
				defer func() { <-turn }()
			case <-ctx.Done(): // look fails at once, and says so
			}
			ctx, cancel := context.WithTimeout(ctx, i.ProbeTimeout)
			defer cancel()
			look(ctx)
		})
	}
	for n, member := range subject.Members {
		probe(func(ctx context.Context) { snapshot.Members[n] = i.member(ctx, member) })
	}
	for n, target := range subject.Sentinels {
		probe(func(ctx context.Context) { snapshot.Sentinels[n] = i.sentinel(ctx, target, subject) })
	}
	all.Wait()
	snapshot.Now = i.Now()
	return snapshot
}

func (i Inspector) withDefaults() Inspector {
	if i.ProbeTimeout <= 0 {
		i.ProbeTimeout = time.Second
	}
	if i.Deadline <= 0 {
		i.Deadline = 5 * time.Second
	}
	if i.Parallel <= 0 {
		i.Parallel = 16
	}
	if i.Now == nil {
		i.Now = time.Now
	}
	return i
}
