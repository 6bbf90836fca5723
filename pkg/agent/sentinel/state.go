// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package sentinel

import (
	"strconv"
	"time"

	"github.com/valkeykube/valkeykube/pkg/agent/probe"
	"github.com/valkeykube/valkeykube/pkg/topology"
	"github.com/valkeykube/valkeykube/pkg/valkeyconf"
)

// state is what a Sentinel's own file says. Sentinel rewrites it with every change, so that it is never behind.
type state struct {
	myID         string
	currentEpoch int64
	monitors     map[string]monitorState
	// Of a peer that has not started: its pod's name, and what its agent says instead.
	name              string
	proposed, settled map[string]topology.Address
}

type monitorState struct {
	primary topology.Address
	// configEpoch is that of the failover that made it the primary; leaderEpoch the last in which this Sentinel voted.
	configEpoch, leaderEpoch int64
	// downAfter is 0 where the file is silent, which means Sentinel's own.
	downAfter time.Duration
}

// usualDownAfter is Sentinel's own (sentinel_default_down_after in sentinel.c).
const usualDownAfter = 30 * time.Second

// readState takes out of a file what it understands.
func readState(text string) (state, error) {
	s := state{monitors: map[string]monitorState{}}
	config, err := valkeyconf.Parse(text)
	if err != nil {
		return s, err
	}
	for _, directive := range config {
		if directive.Name == "sentinel" && len(directive.Args) > 1 {
			s.read(directive.Args[0], directive.Args[1:])
		}
	}
	return s, nil
}

func (s *state) read(what string, args []string) {
	number := func(i int) int64 {
		if i >= len(args) {
			return 0
		}
		n, _ := strconv.ParseInt(args[i], 10, 64)
		return max(n, 0)
	}
	switch what {
	case "myid":
		s.myID = args[0]
		return
	case "current-epoch":
		s.currentEpoch = number(0)
		return
	}
	m := s.monitors[args[0]]
	switch what {
	case "monitor":
		if len(args) < 3 {
			return
		}
		m.primary = topology.Address{Host: args[1], Port: int(number(2))}
	case "config-epoch":
		m.configEpoch = number(1)
	case "leader-epoch":
		m.leaderEpoch = number(1)
	case "down-after-milliseconds":
		m.downAfter = time.Duration(number(1)) * time.Millisecond
	default:
		return
	}
	s.monitors[args[0]] = m
}

// shortestDownAfter is that of the monitor that is to notice first.
func (s state) shortestDownAfter() time.Duration {
	shortest := usualDownAfter
	for _, m := range s.monitors {
		if m.downAfter > 0 {
			shortest = min(shortest, m.downAfter)
		}
	}
	return shortest
}

// report is the state for other agents.
func (s state) report() *probe.Sentinel {
	report := &probe.Sentinel{MyID: s.myID, CurrentEpoch: s.currentEpoch}
	for name, m := range s.monitors {
		if !m.primary.IsZero() {
			report.Monitors = append(report.Monitors, probe.Monitor{
				Name: name, Host: m.primary.Host, Port: m.primary.Port, ConfigEpoch: m.configEpoch,
			})
		}
	}
	return report
}

// stateFrom is the reverse of report.
func stateFrom(name string, report *probe.Sentinel) state {
	s := state{
		name: name, myID: report.MyID, currentEpoch: report.CurrentEpoch, monitors: map[string]monitorState{},
		proposed: addresses(report.Proposed), settled: addresses(report.Settled),
	}
	for _, m := range report.Monitors {
		s.monitors[m.Name] = monitorState{primary: topology.Address{Host: m.Host, Port: m.Port}, configEpoch: m.ConfigEpoch}
	}
	return s
}

func addresses(monitors []probe.Monitor) map[string]topology.Address {
	byName := map[string]topology.Address{}
	for _, m := range monitors {
		byName[m.Name] = topology.Address{Host: m.Host, Port: m.Port}
	}
	return byName
}

func monitorsOf(primaries map[string]settled) []probe.Monitor {
	monitors := make([]probe.Monitor, 0, len(primaries))
	for name, s := range primaries {
		monitors = append(monitors, probe.Monitor{Name: name, Host: s.primary.Host, Port: s.primary.Port, ConfigEpoch: s.configEpoch})
	}
	return monitors
}
