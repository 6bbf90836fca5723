// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package node

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"time"

	"github.com/valkeykube/valkeykube/pkg/agent/dataset"
	"github.com/valkeykube/valkeykube/pkg/agent/decision"
	"github.com/valkeykube/valkeykube/pkg/agent/probe"
	"github.com/valkeykube/valkeykube/pkg/agent/record"
	"github.com/valkeykube/valkeykube/pkg/topology"
)

// start is a decision to start the server.
type start struct {
	set set
	// follow is zero for a primary.
	follow topology.Address
	// unpromotable: see decision.Outcome.
	unpromotable bool
	// joined: the node has run before, and may have been part of a set.
	joined bool
	err    error
}

// decide looks around until the decision is to start.
func (a *Agent) decide(ctx context.Context, disk dataset.Disk) start {
	began, joined := a.decidingSince(), a.stored() != nil
	_, complete := a.stored().OnDisk(disk, a.bootID)
	var last decision.Outcome
	intends := false
	for ctx.Err() == nil {
		// Read anew each time: the mount follows the controller's hint while this node waits.
		settings, err := a.options.settings()
		if err != nil {
			return start{err: err}
		}
		s := newSet(settings, a.options)
		in := a.input(s, complete)
		if len(s.Members) > 1 {
			in.Peers, in.Sentinels = a.look(ctx, s)
		}
		in.Self.Intends, in.Elapsed = intends, time.Since(began)
		outcome := decision.Decide(in)
		a.publish(s, in, outcome, last)
		last = outcome
		switch {
		case outcome.Action == decision.StartReplica:
			return start{set: s, follow: s.addressOf(outcome.Primary), unpromotable: outcome.Unpromotable, joined: joined}
		case outcome.Action == decision.StartPrimary && (intends || !outcome.NeedsNotice()):
			return start{set: s, joined: joined}
		case outcome.Action == decision.StartPrimary:
			intends = true
			continue // at once: whoever looks from now on sees the intention
		}
		intends = false
		a.ask(ctx, s, outcome)
		pause(ctx, a.options.Poll)
	}
	return start{err: ctx.Err()}
}

func pause(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}

func (a *Agent) stored() *record.Record {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.record
}

// decidingSince goes on where the last container of this pod was, should it have been ended while it waited: a wait that began
// anew each time would have no bound.
func (a *Agent) decidingSince() time.Time {
	path := filepath.Join(a.options.RunDir, fileDeciding)
	now := time.Now()
	var began time.Time
	if text, err := os.ReadFile(path); err == nil && json.Unmarshal(text, &began) == nil && !began.After(now) {
		return began
	}
	text, err := json.Marshal(now)
	if err == nil {
		err = replaceFile(path, text)
	}
	if err != nil {
		a.options.Log.Warn("the time that this node waits is not kept", "err", err)
	}
	return now
}

func (a *Agent) input(s set, complete bool) decision.Input {
	report := a.current()
	in := decision.Input{
		Mode: s.Mode, Hint: s.Primary, Persistent: s.Persistent, Limits: a.options.Limits,
		Self: decision.Self{
			Name: s.self.Name, Index: s.index(), HasData: report.Node.HasData, Position: report.Node.Position, Complete: complete,
		},
	}
	if stored := a.stored(); stored != nil {
		in.Self.Record = &decision.Record{Role: stored.Role, Primary: s.nameOf(stored.Primary), Keys: stored.Keys}
	}
	return in
}

// publish tells the decision to people and to the other agents.
func (a *Agent) publish(s set, in decision.Input, outcome, last decision.Outcome) {
	name, source := in.Named()
	a.update(func(n *probe.Node) {
		n.Decision = probe.Decision{
			Action: outcome.Action, Code: outcome.Code, Primary: outcome.Primary, Ask: outcome.Ask, Target: outcome.Target,
			Reason: outcome.Reason, After: in.Elapsed.Round(time.Millisecond).Seconds(),
		}
		n.Named, n.Source, n.StandsBack = name, source, outcome.StandsBack()
		n.Starts, n.Intends = "", false
		switch {
		case outcome.Action == decision.StartReplica:
			n.Starts = outcome.Primary
		case outcome.Action == decision.StartPrimary && (in.Self.Intends || !outcome.NeedsNotice()):
			n.Starts = s.self.Name
		case outcome.Action == decision.StartPrimary:
			n.Intends = true
		}
	})
	if outcome.Code != last.Code || outcome.Reason != last.Reason || outcome.Action != last.Action || outcome.Ask != last.Ask {
		a.options.Log.Info("decision",
			"action", outcome.Action, "code", outcome.Code, "primary", outcome.Primary, "ask", outcome.Ask, "target", outcome.Target,
			"reason", outcome.Reason, "after", in.Elapsed.Round(time.Millisecond), "mode", in.Mode, "hint", in.Hint)
	}
}
