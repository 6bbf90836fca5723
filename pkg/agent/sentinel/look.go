// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package sentinel

import (
	"context"
	"maps"
	"sync"
	"time"

	"github.com/valkeykube/valkeykube/pkg/agent/decision"
	"github.com/valkeykube/valkeykube/pkg/agent/probe"
	"github.com/valkeykube/valkeykube/pkg/boot"
	"github.com/valkeykube/valkeykube/pkg/inspect"
	"github.com/valkeykube/valkeykube/pkg/topology"
	"github.com/valkeykube/valkeykube/pkg/valkeyclient"
)

const (
	probeTimeout = time.Second
	// parallel bounds how many monitors are looked at at a time, in a cold start of a set that watches hundreds.
	parallel = 32
	// lookAgain is the time between two looks in a cold start.
	lookAgain = 300 * time.Millisecond
)

// recall asks the peers' agents what their Sentinels have in their files.
func (a *Agent) recall(ctx context.Context) memory {
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	m := memory{own: a.own}
	var mu sync.Mutex
	var all sync.WaitGroup
	for _, peer := range a.settings.Peers {
		if peer.Name == a.self.Name {
			continue
		}
		all.Go(func() {
			report, err := a.agents.Report(ctx, peer.Host)
			if err != nil || report.Name != peer.Name || report.Sentinel == nil {
				return
			}
			mu.Lock()
			defer mu.Unlock()
			if report.Phase == probe.PhaseRunning {
				m.running = append(m.running, stateFrom(peer.Name, report.Sentinel))
			} else {
				m.starting = append(m.starting, stateFrom(peer.Name, report.Sentinel))
			}
		})
	}
	all.Wait()
	return m
}

// settle finds whom each monitor is to watch. What the Sentinels remember needs no further look. Otherwise the members are
// asked until nobody is missing who might know better, or patience ends; and then all Sentinels that start must come to
// the same conclusion, though they do not see the same.
func (a *Agent) settle(ctx context.Context) (memory, map[string]settled) {
	patient, cancel := context.WithTimeout(ctx, a.options.Patience)
	defer cancel()
	said := state{name: a.self.Name}
	for ctx.Err() == nil {
		m := a.recall(ctx)
		proposals, complete := a.propose(ctx, m)
		if complete || patient.Err() != nil {
			said.proposed = addresses(monitorsOf(proposals))
			a.tell(func() { a.proposed = monitorsOf(proposals) })
		}
		agreed, all := agree(said, m.starting, proposals, patient.Err() == nil)
		if !all {
			pause(ctx, lookAgain)
			continue
		}
		settledOn := addresses(monitorsOf(agreed))
		if len(m.running) > 0 || maps.Equal(settledOn, said.settled) {
			return m, agreed
		}
		// Told first, and looked at once more: another may have settled in the same moment.
		said.settled = settledOn
		a.tell(func() { a.settled = monitorsOf(agreed) })
	}
	return memory{own: a.own}, nil
}

// tell changes what others are told.
func (a *Agent) tell(change func()) {
	a.mu.Lock()
	defer a.mu.Unlock()
	change()
}

// hold waits until the primaries answer: a cold start is no failure of a primary. With a down-after of a second Sentinels would
// fail over before it is up.
func (a *Agent) hold(ctx context.Context, primaries map[string]settled) {
	ctx, cancel := context.WithTimeout(ctx, a.options.Patience)
	defer cancel()
	for ctx.Err() == nil && !a.allAnswer(ctx, primaries) {
		pause(ctx, lookAgain)
	}
}

// allAnswer: every primary is there, be it loading or with another password.
func (a *Agent) allAnswer(ctx context.Context, primaries map[string]settled) bool {
	subject := inspect.Subject{}
	for _, monitor := range a.settings.Monitors {
		s := primaries[monitor.Name]
		subject.Members = append(subject.Members, inspect.Member{Target: a.encryption().On(valkeyclient.Target{
			Name: monitor.Name, Address: valkeyclient.Address(s.primary).String(),
			Credentials: valkeyclient.Credentials{Username: monitor.AuthUser, Password: monitor.AuthPass},
		})})
	}
	snapshot := inspect.Inspector{Clients: a.clients, ProbeTimeout: probeTimeout, Parallel: parallel}.Look(ctx, subject)
	for _, m := range snapshot.Members {
		if m.Reach.Class == topology.ReachUnreachable || m.Reach.Class == topology.ReachTimeout {
			return false
		}
	}
	return true
}

func pause(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}

// propose is whom each monitor should watch, by what is remembered or else seen now; complete if no further look would tell more.
func (a *Agent) propose(ctx context.Context, m memory) (primaries map[string]settled, complete bool) {
	primaries, complete = map[string]settled{}, true
	var mu sync.Mutex
	var all sync.WaitGroup
	turn := make(chan struct{}, parallel)
	for _, monitor := range a.settings.Monitors {
		all.Go(func() {
			turn <- struct{}{}
			defer func() { <-turn }()
			s, known := m.remembered(monitor.Name)
			whole := true
			if !known {
				s.primary, s.source, whole = fromMembers(monitor, a.members(ctx, monitor))
			}
			s.leaderEpoch = m.leaderEpoch(monitor.Name, a.myID)
			mu.Lock()
			defer mu.Unlock()
			primaries[monitor.Name] = s
			complete = complete && whole
		})
	}
	all.Wait()
	return primaries, complete
}

// members are the data nodes of one monitor: what their servers and their agents say.
func (a *Agent) members(ctx context.Context, monitor boot.Monitor) []decision.Peer {
	ctx, cancel := context.WithTimeout(ctx, 2*probeTimeout)
	defer cancel()
	subject := inspect.Subject{}
	peers := make([]decision.Peer, len(monitor.Members))
	var all sync.WaitGroup
	for i, member := range monitor.Members {
		peers[i] = decision.Peer{Name: member.Name, Index: i}
		subject.Members = append(subject.Members, inspect.Member{Target: a.encryption().On(valkeyclient.Target{
			Name: member.Name, Address: valkeyclient.Address{Host: member.Host, Port: member.Port}.String(),
			Credentials: valkeyclient.Credentials{Username: monitor.AuthUser, Password: monitor.AuthPass},
		})})
		all.Go(func() {
			ctx, cancel := context.WithTimeout(ctx, probeTimeout)
			defer cancel()
			if report, err := a.agents.Report(ctx, member.Host); err == nil && report.Name == member.Name {
				peers[i].Agent = report.Decision()
			}
		})
	}
	snapshot := inspect.Inspector{Clients: a.clients, ProbeTimeout: probeTimeout, Deadline: 2 * probeTimeout}.Look(ctx, subject)
	all.Wait()
	for i, m := range snapshot.Members {
		if m.Answered() {
			peers[i].Server = probe.ServerOf(m, func(address topology.Address) string { return nameAt(monitor.Members, address) })
		}
	}
	return peers
}
