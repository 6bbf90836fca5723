// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package supervise

import (
	"context"
	"log"
	"os"
	"os/signal"
	"sync"
	"syscall"

	"github.com/valkeykube/valkeykube/hack/cluster/internal/plan"
	"github.com/valkeykube/valkeykube/hack/cluster/internal/state"
)

// Supervisor keeps the daemons of a cluster running. It holds nothing that is not in files: another one takes over the
// running daemons where it left them.
type Supervisor struct {
	cluster plan.Cluster
	daemons state.Daemons
	tool    string
}

// New returns the supervisor of a cluster.
func New(c plan.Cluster) *Supervisor {
	return &Supervisor{cluster: c, daemons: state.DaemonsOf(c), tool: c.Tool()}
}

// Run supervises until ctx ends and leaves the daemons running then. SIGHUP makes it read again what is wanted.
func (s *Supervisor) Run(ctx context.Context) error {
	changes := make(chan os.Signal, 1)
	signal.Notify(changes, syscall.SIGHUP)
	defer signal.Stop(changes)

	keepers := map[string]*keeper{}
	var running sync.WaitGroup
	defer running.Wait()
	for {
		list, err := s.daemons.List()
		if err != nil {
			s.logf("read what is wanted: %v", err)
		}
		for _, daemon := range list {
			if k, known := keepers[daemon.Name]; known {
				select {
				case k.wake <- struct{}{}:
				default:
				}
				continue
			}
			k := &keeper{Supervisor: s, name: daemon.Name, wake: make(chan struct{}, 1)}
			keepers[daemon.Name] = k
			running.Go(func() { k.run(ctx) })
		}
		select {
		case <-ctx.Done():
			return nil
		case <-changes:
		}
	}
}

func (s *Supervisor) logf(format string, args ...any) {
	log.Printf(format, args...)
}
