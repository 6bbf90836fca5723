// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package node

import (
	"context"
	"errors"
	"strings"
	"sync"
	"time"

	"github.com/valkeykube/valkeykube/pkg/agent/decision"
	"github.com/valkeykube/valkeykube/pkg/agent/probe"
	"github.com/valkeykube/valkeykube/pkg/agent/resolver"
	"github.com/valkeykube/valkeykube/pkg/boot"
	"github.com/valkeykube/valkeykube/pkg/inspect"
	"github.com/valkeykube/valkeykube/pkg/naming"
	"github.com/valkeykube/valkeykube/pkg/topology"
	"github.com/valkeykube/valkeykube/pkg/valkeyclient"
)

// probeTimeout bounds the look at one process. Whoever does not answer in that time counts as not there.
const probeTimeout = time.Second

// set is the members as the boot settings have them now.
type set struct {
	boot.Node
	self  boot.Endpoint
	podIP string
}

// newSet finds the node among the members. A node that was made by hand is its own only member.
func newSet(settings boot.Node, options Options) set {
	s := set{Node: settings, podIP: options.PodIP}
	for _, member := range settings.Members {
		if member.Name == options.Node {
			s.self = member
		}
	}
	if s.self.Name == "" {
		s.self = boot.Endpoint{Name: options.Node, Host: naming.NodeHost(options.Node, settings.Namespace, settings.DNS.ClusterDomain)}
	}
	if s.self.Port == 0 {
		s.self.Port = naming.PortValkey
	}
	return s
}

func (s set) index() int {
	for i, member := range s.Members {
		if member.Name == s.self.Name {
			return i
		}
	}
	return len(s.Members) // one that is being removed is not the first of a new set
}

// nameOf is the member at an address; the address itself if it is no member's.
func (s set) nameOf(address topology.Address) string {
	if address.IsZero() {
		return ""
	}
	for _, member := range append([]boot.Endpoint{s.self}, s.Members...) {
		if member.Port == address.Port && sameHost(member.Host, address.Host) {
			return member.Name
		}
	}
	if address.Host == s.podIP && address.Port == s.self.Port {
		return s.self.Name
	}
	return address.String()
}

// addressOf is the reverse of nameOf.
func (s set) addressOf(name string) topology.Address {
	for _, member := range append([]boot.Endpoint{s.self}, s.Members...) {
		if member.Name == name {
			return topology.Address{Host: member.Host, Port: member.Port}
		}
	}
	parsed, _ := valkeyclient.ParseAddress(name)
	return topology.Address(parsed)
}

func sameHost(a, b string) bool {
	return strings.EqualFold(strings.TrimSuffix(a, "."), strings.TrimSuffix(b, "."))
}

// target of a member's server.
func (a *Agent) target(member boot.Endpoint) valkeyclient.Target {
	return a.encryption().On(valkeyclient.Target{
		Name: member.Name, Address: valkeyclient.Address{Host: member.Host, Port: member.Port}.String(), Credentials: a.options.credentials(),
	})
}

// subject is the set for packages inspect and operation, without the members that leave is true for.
func (a *Agent) subject(s set, leave func(boot.Endpoint) bool) inspect.Subject {
	subject := inspect.Subject{Monitor: s.MonitorName}
	for _, member := range s.Members {
		if leave == nil || !leave(member) {
			subject.Members = append(subject.Members, inspect.Member{Target: a.target(member)})
		}
	}
	if s.Mode != decision.ModeSentinel {
		return subject
	}
	credentials := a.options.sentinelCredentials()
	for _, sentinel := range s.Sentinels {
		subject.Sentinels = append(subject.Sentinels, a.encryption().On(valkeyclient.Target{
			Name: sentinel.Name, Address: valkeyclient.Address{Host: sentinel.Host, Port: sentinel.Port}.String(), Credentials: credentials,
		}))
	}
	return subject
}

// look asks the peers' servers, their agents and the Sentinels, all at the same time.
func (a *Agent) look(ctx context.Context, s set) ([]decision.Peer, []decision.Sentinel) {
	ctx, cancel := context.WithTimeout(ctx, 2*probeTimeout)
	defer cancel()
	var reports, sentinelReports map[string]*probe.Report
	var all sync.WaitGroup
	all.Go(func() { reports = a.reports(ctx, s.Members) })
	if s.Mode == decision.ModeSentinel {
		all.Go(func() { sentinelReports = a.reports(ctx, s.Sentinels) })
	}
	subject := a.subject(s, func(member boot.Endpoint) bool { return member.Name == s.self.Name })
	snapshot := inspect.Inspector{Clients: a.clients, ProbeTimeout: probeTimeout, Deadline: 2 * probeTimeout}.Look(ctx, subject)
	all.Wait()

	var peers []decision.Peer
	for index, member := range s.Members {
		if member.Name == s.self.Name {
			continue
		}
		p := decision.Peer{Name: member.Name, Index: index}
		if seen, known := snapshot.Member(member.Name); known && seen.Answered() {
			p.Server = probe.ServerOf(seen, s.nameOf)
		}
		if report := reports[member.Name]; report != nil {
			p.Agent = report.Decision()
			if seen, known := snapshot.Member(member.Name); known && p.Server == nil && answersOthers(seen.Reach.Class) {
				p.Server = report.Server(time.Now())
			}
		}
		if p.Server == nil && p.Agent == nil {
			p.Sight = a.sight(ctx, member.Host)
		}
		peers = append(peers, p)
	}
	var sentinels []decision.Sentinel
	for _, view := range snapshot.Sentinels {
		sentinels = append(sentinels, s.sentinel(view, sentinelReports[view.Name]))
	}
	return peers, sentinels
}

// reports are those of the agents that answer, this one aside.
func (a *Agent) reports(ctx context.Context, of []boot.Endpoint) map[string]*probe.Report {
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	reports := map[string]*probe.Report{}
	var mu sync.Mutex
	var all sync.WaitGroup
	for _, other := range of {
		if other.Name == a.self.Name {
			continue
		}
		all.Go(func() {
			report, err := a.agents.Report(ctx, other.Host)
			if err == nil && report.Name == other.Name {
				mu.Lock()
				defer mu.Unlock()
				reports[other.Name] = &report
			}
		})
	}
	all.Wait()
	return reports
}

func (a *Agent) sight(ctx context.Context, host string) decision.Sight {
	_, err := a.resolver.LookupHost(ctx, host)
	switch {
	case errors.Is(err, resolver.ErrNotFound):
		return decision.Absent
	case err != nil:
		return decision.Blind
	}
	return decision.Unreachable
}

// answersOthers: the server is there, only not for this agent, as while a password is being changed, or while it has all the clients it may.
func answersOthers(class topology.ReachClass) bool {
	return class == topology.ReachAuth || class == topology.ReachPermission || class == topology.ReachFull
}

// sentinel is one Sentinel's word: its own, or in a cold start that of its agent, which waits for this set to start.
func (s set) sentinel(view topology.SentinelView, report *probe.Report) decision.Sentinel {
	if !view.Reach.OK() {
		return s.settled(report)
	}
	sentinel := decision.Sentinel{Answered: true}
	if monitor, holds := view.Monitors[s.MonitorName]; holds {
		sentinel.Says, sentinel.Epoch = s.nameOf(monitor.Primary), monitor.ConfigEpoch
		sentinel.Pending = monitor.ObjectDown || monitor.FailoverInProgress
	}
	return sentinel
}

func (s set) settled(report *probe.Report) decision.Sentinel {
	if report == nil || report.Sentinel == nil || report.Phase != probe.PhaseDeciding {
		return decision.Sentinel{}
	}
	for _, monitor := range report.Sentinel.Settled {
		if monitor.Name == s.MonitorName {
			says := s.nameOf(topology.Address{Host: monitor.Host, Port: monitor.Port})
			return decision.Sentinel{Answered: true, Says: says, Epoch: monitor.ConfigEpoch}
		}
	}
	return decision.Sentinel{}
}
