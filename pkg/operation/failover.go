// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package operation

import (
	"context"
	"fmt"
	"time"

	"github.com/valkeykube/valkeykube/pkg/inspect"
	"github.com/valkeykube/valkeykube/pkg/topology"
	"github.com/valkeykube/valkeykube/pkg/valkeyclient"
)

// Limits bounds the parts of a failover. The zero value of each is its default.
type Limits struct {
	// Pause is how long writes may be held back. The pause is the server's own and ends by itself then, whatever has become of
	// whoever asked for it. Default 6 s; a hand-over takes 0.2 to 1.3 s of it.
	Pause time.Duration
	// CatchUp is how long the target may take to have all that was written before the pause. Default 1 s.
	CatchUp time.Duration
	// Prepare is how long the preparations may take, during which nobody notices anything: until Sentinel has seen whom it is to
	// choose, and until the moment at which it will notice the promotion soonest. Default 15 s. If the moment does not come in
	// time the failover goes on without it and takes up to a second longer.
	Prepare time.Duration
	// Step bounds every other step. Default 2 s.
	Step time.Duration
}

func (l Limits) withDefaults() Limits {
	for _, limit := range []struct {
		value *time.Duration
		usual time.Duration
	}{{&l.Pause, 6 * time.Second}, {&l.CatchUp, time.Second}, {&l.Prepare, 15 * time.Second}, {&l.Step, 2 * time.Second}} {
		if *limit.value <= 0 {
			*limit.value = limit.usual
		}
	}
	return l
}

// Failover changes the primary of one set. Clients is required. It keeps no state.
type Failover struct {
	Clients inspect.Clients
	Limits  Limits
	// Announce, if set, is told the name of each step as it begins.
	Announce func(step string)
}

// Do looks at the set, checks the request (a *Refused error if it must not be done), and carries it out until it succeeded, ctx
// ends, or a step fails. Result is meaningful also with an error: its Phase says whether all was undone (Failed) or the change
// goes on without us (InProgress, no error). All targets of the subject need the rights of the operator's, API server's or agent's
// user.
func (f Failover) Do(ctx context.Context, subject inspect.Subject, request Request) (Result, error) {
	started := time.Now()
	subject.Monitor = request.Monitor
	if request.Monitor == "" {
		subject.Sentinels = nil
	}
	snapshot := inspect.Inspector{Clients: f.Clients}.Look(ctx, subject)
	decision := CheckFailover(snapshot, request)
	result := Result{From: decision.From, To: decision.To, Phase: Failed, StartedAt: started, Losing: decision.Losing}
	if !decision.OK() {
		return result, &Refused{Causes: decision.Causes}
	}
	s, err := f.newChange(subject, snapshot, request, decision)
	if err != nil {
		return result, err
	}
	s.result = result
	switch {
	case request.Monitor != "" && request.Mode == Forced:
		err = s.sentinelForced(ctx)
	case request.Monitor != "":
		err = s.sentinelCoordinated(ctx)
	case request.Mode == Forced:
		err = s.directForced(ctx)
	default:
		err = s.directCoordinated(ctx)
	}
	s.undoAll(ctx, err != nil)
	s.result.Steps = s.steps
	if s.result.Phase == Succeeded { // a step failed, and it was seen to have happened all the same
		err = nil
	}
	return s.result, err
}

// change is one failover under way.
type change struct {
	journal
	limits   Limits
	monitor  string
	snapshot topology.Snapshot
	result   Result
	// pausedAt is when writes were held back.
	pausedAt time.Time
	// hurried: the leading Sentinel asks for INFO every second.
	hurried bool
	// demoted: the old primary was told to follow the target.
	demoted bool
	// wanted: the target was asked for by name.
	wanted bool
	// pings are how often the old primary pings its replicas.
	pings pings

	// from and to are the members; fromNode is nil if there is no known primary.
	from, to         topology.Member
	fromNode, toNode valkeyclient.Node
	// others is the nodes of all members but these two, by name.
	others map[string]valkeyclient.Node
	// sentinels that answered and hold the monitor; the first leads, unless another is leader.
	sentinels []namedSentinel
	leader    valkeyclient.Sentinel
}

type namedSentinel struct {
	name   string
	client valkeyclient.Sentinel
}

func (f Failover) newChange(subject inspect.Subject, snapshot topology.Snapshot, request Request, decision Decision) (*change, error) {
	s := &change{
		journal: journal{announce: f.Announce}, limits: f.Limits.withDefaults(), monitor: request.Monitor, snapshot: snapshot,
		others: map[string]valkeyclient.Node{}, wanted: request.To != "", pings: request.pings(),
	}
	s.from, _ = snapshot.Member(decision.From)
	s.to, _ = snapshot.Member(decision.To)
	for _, member := range subject.Members {
		node, err := f.Clients.Node(member.Target)
		if err != nil {
			return nil, fmt.Errorf("client of %s: %w", member.Target.Name, err)
		}
		switch member.Target.Name {
		case decision.From:
			s.fromNode = node
		case decision.To:
			s.toNode = node
		default:
			s.others[member.Target.Name] = node
		}
	}
	verdict := snapshot.SentinelPrimary(request.Monitor)
	for i, view := range snapshot.Sentinels {
		monitor, holds := view.Monitors[request.Monitor]
		if !view.Reach.OK() || !holds {
			continue
		}
		client, err := f.Clients.Sentinel(subject.Sentinels[i])
		if err != nil {
			return nil, fmt.Errorf("client of %s: %w", view.Name, err)
		}
		sentinel := namedSentinel{name: view.Name, client: client}
		// One that itself holds the present configuration and sees nothing amiss leads best.
		if monitor.ConfigEpoch == verdict.Epoch && len(monitor.Flags) == 1 && len(s.sentinels) > 0 && !s.firstIsFit(verdict.Epoch) {
			s.sentinels = append([]namedSentinel{sentinel}, s.sentinels...)
			continue
		}
		s.sentinels = append(s.sentinels, sentinel)
	}
	return s, nil
}

func (s *change) firstIsFit(epoch int64) bool {
	for _, view := range s.snapshot.Sentinels {
		if view.Name == s.sentinels[0].name {
			monitor := view.Monitors[s.monitor]
			return monitor.ConfigEpoch == epoch && len(monitor.Flags) == 1
		}
	}
	return false
}

// lead is the Sentinel that is asked, and that will lead the failover.
func (s *change) lead() valkeyclient.Sentinel {
	if s.leader != nil {
		return s.leader
	}
	return s.sentinels[0].client
}

// succeeded notes the moment at which the new primary is one.
func (s *change) succeeded(coordinated bool) {
	s.result.Phase, s.result.Coordinated = Succeeded, coordinated
	s.result.Duration = time.Since(s.result.StartedAt)
}
