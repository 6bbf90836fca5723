// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package node

import (
	"context"
	"reflect"
	"time"

	"github.com/valkeykube/valkeykube/pkg/agent/dataset"
	"github.com/valkeykube/valkeykube/pkg/agent/decision"
	"github.com/valkeykube/valkeykube/pkg/agent/fence"
	"github.com/valkeykube/valkeykube/pkg/agent/probe"
	"github.com/valkeykube/valkeykube/pkg/agent/record"
	"github.com/valkeykube/valkeykube/pkg/inspect"
	"github.com/valkeykube/valkeykube/pkg/topology"
	"github.com/valkeykube/valkeykube/pkg/valkeyclient"
	"github.com/valkeykube/valkeykube/pkg/valkeyconf"
)

const (
	// watchEvery is how often the running server is looked at: a change of its role is recorded in that time. saveEvery is how
	// often the record is written for a new offset alone.
	watchEvery = 250 * time.Millisecond
	saveEvery  = time.Second
	// hurryEvery is how often while something waits to be undone: Sentinel reads a replica's priority every 10 s only.
	hurryEvery = 100 * time.Millisecond
	// lookAgainEvery is how often a replica that got no copy looks whether it is the others who have the data.
	lookAgainEvery = 10 * time.Second
)

// own is the target of this node's own server, which is asked over loopback.
func (a *Agent) own(credentials valkeyclient.Credentials) valkeyclient.Target {
	e := a.tls.Encryption()
	e.Mixed = true // it does not leave the pod, and changes under a running server
	return e.On(valkeyclient.Target{
		Name: a.self.Name, Address: valkeyclient.Address{Host: a.options.ServerHost, Port: a.self.Port}.String(), Credentials: credentials,
	})
}

// lookAtSelf logs in with the password that is mounted, else with the last one that worked: a new one is mounted before or
// after the server has it.
func (a *Agent) lookAtSelf(ctx context.Context) topology.Member {
	look := func(credentials valkeyclient.Credentials) topology.Member {
		subject := inspect.Subject{Members: []inspect.Member{{Target: a.own(credentials)}}}
		return inspect.Inspector{Clients: a.clients, ProbeTimeout: probeTimeout}.Look(ctx, subject).Members[0]
	}
	credentials := a.options.credentials()
	m := look(credentials)
	a.mu.Lock()
	worked := a.worked
	if m.Answered() {
		a.worked = credentials
	}
	a.mu.Unlock()
	if m.Reach.Class == topology.ReachAuth && worked != credentials {
		return look(worked)
	}
	return m
}

// watch keeps the record while the server runs, undoes once what only its start needed, and keeps the fence and the
// product's own users.
func (a *Agent) watch(ctx context.Context, begin start, base valkeyconf.Config, disk dataset.Disk) {
	pending := a.afterStart(begin, base, disk)
	f, u, k, c := fencing{state: fence.State{Joined: begin.joined}}, users{}, upkeep{}, serving{revision: a.tls.Encryption().Revision}
	for saved := (time.Time{}); ctx.Err() == nil; {
		m := a.lookAtSelf(ctx)
		rest := watchEvery
		if m.Reach.OK() {
			if a.note(ctx, m, time.Since(saved) >= saveEvery) {
				saved = time.Now()
			}
			pending = a.carryOut(ctx, pending, m)
			a.guard(ctx, &f, m)
			if len(pending) == 0 {
				a.keep(ctx, &k, m)
			}
		}
		a.keepUsers(ctx, &u, m)
		a.keepCertificate(ctx, &c, m)
		if len(pending) > 0 {
			rest = hurryEvery
		}
		pause(ctx, rest)
	}
}

// note updates record and report by a look at the own server. The record is written when it is due, and at once when it is
// about another history or role, or the append-only file is kept no more.
func (a *Agent) note(ctx context.Context, m topology.Member, due bool) (saved bool) {
	now := time.Now().UTC()
	settings, err := a.options.settings()
	if err != nil {
		return false
	}
	s := newSet(settings, a.options)
	before := *a.stored()
	after := before.Seen(m, now)
	moved := after.Position.ReplID != before.Position.ReplID || after.Role != before.Role
	if moved && m.LinkUp {
		after = a.inherit(ctx, s, after)
	}
	moved = moved || after.IsLogStale() != before.IsLogStale()
	a.mu.Lock()
	defer a.mu.Unlock()
	a.record = &after
	n := a.report.Node
	n.HasData, n.Position, n.WasPrimary = m.HasData(), after.Position, after.Role == topology.RolePrimary
	n.Running = &probe.Running{
		Role: m.Role, Follows: s.nameOf(m.Primary), LinkUp: m.LinkUp, Loading: m.Loading, Keys: m.Keys, Seen: now,
	}
	if !moved && (!due || !changed(a.written, after)) {
		return false
	}
	if err := after.Save(a.recordFile()); err != nil {
		a.options.Log.Warn("the record of this node cannot be written", "err", err)
	}
	a.written = after
	return true
}

// changed ignores the time: an idle server's record is not written again.
func changed(before, after record.Record) bool {
	after.Position.When = before.Position.When
	return !reflect.DeepEqual(before, after)
}

// inherit adds the histories that the primary's copy has moved on from: a copy of it has, too.
func (a *Agent) inherit(ctx context.Context, s set, r record.Record) record.Record {
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	report, err := a.agents.Report(ctx, r.Primary.Host)
	if err != nil || report.Node == nil || report.Name != s.nameOf(r.Primary) || report.Node.Position.ReplID != r.Position.ReplID {
		return r
	}
	r.Position = r.Position.MovedTo(r.Position.ReplID, r.Position.Offset, r.Position.When, report.Node.Position.History...)
	return r
}

// task is something to set in the running server when the time has come.
type task struct {
	key, value, why string
	// when tells from a look at the server whether it has.
	when func(ctx context.Context, m topology.Member) bool
}

// afterStart is what only the start needed otherwise.
func (a *Agent) afterStart(begin start, base valkeyconf.Config, disk dataset.Disk) []task {
	var tasks []task
	if begin.unpromotable {
		tasks = append(tasks, task{
			key: "replica-priority", value: replicaPriority(base), why: "it has a copy, or nobody who can be seen has data: it may be promoted",
			when: a.promotable(begin.set),
		})
	}
	if disk.Converts {
		tasks = append(tasks, task{
			key: "appendonly", value: yesNo(disk.Kind != dataset.KindAOF), why: "the data of the former way of persistence is loaded",
			when: func(_ context.Context, m topology.Member) bool { return !m.Loading },
		})
	}
	return tasks
}

// promotable tells when a replica that started empty may be promoted: once it has a copy, or after a wait without one if there is no
// data that its promotion could cost. Sentinel prefers it otherwise: to it, a replica that never had a link has not lost any for long.
func (a *Agent) promotable(s set) func(ctx context.Context, m topology.Member) bool {
	next := time.Now().Add(a.options.Limits.Empty)
	return func(ctx context.Context, m topology.Member) bool {
		switch {
		case m.LinkUp || m.Role == topology.RolePrimary:
			return true
		case time.Now().Before(next):
			return false
		}
		next = time.Now().Add(lookAgainEvery)
		if settings, err := a.options.settings(); err == nil { // members may have come or gone
			s = newSet(settings, a.options)
		}
		peers, _ := a.look(ctx, s)
		if mayHold := decision.MayHoldData(peers); len(mayHold) > 0 {
			a.options.Log.Info("stays unpromotable", "why", "it has no copy, and others hold data or cannot be looked up", "others", mayHold)
			return false
		}
		return true
	}
}

// carryOut does the tasks whose time has come and returns the others.
func (a *Agent) carryOut(ctx context.Context, tasks []task, m topology.Member) []task {
	var left []task
	for _, t := range tasks {
		if !t.when(ctx, m) {
			left = append(left, t)
			continue
		}
		err := a.configure(ctx, valkeyclient.Setting{Key: t.key, Value: t.value})
		if err != nil {
			left = append(left, t)
			a.options.Log.Warn("setting not changed", "key", t.key, "err", err)
			continue
		}
		a.options.Log.Info("setting changed", "key", t.key, "value", t.value, "why", t.why)
	}
	return left
}

// configure sets directives of the own server, with the login that worked last.
func (a *Agent) configure(ctx context.Context, settings ...valkeyclient.Setting) error {
	node, err := a.clients.Node(a.own(a.login()))
	if err != nil {
		return err
	}
	return node.ConfigSet(ctx, settings...)
}
