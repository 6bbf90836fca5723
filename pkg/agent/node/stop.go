// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package node

import (
	"context"
	"errors"
	"syscall"
	"time"

	"github.com/valkeykube/valkeykube/pkg/agent/decision"
	"github.com/valkeykube/valkeykube/pkg/agent/probe"
	"github.com/valkeykube/valkeykube/pkg/agent/process"
	"github.com/valkeykube/valkeykube/pkg/boot"
	"github.com/valkeykube/valkeykube/pkg/operation"
	"github.com/valkeykube/valkeykube/pkg/topology"
	"github.com/valkeykube/valkeykube/pkg/valkeyconf"
)

const (
	// shutdownShare is what of the grace period is left to the server's own shutdown: it waits for its replicas, and writes a
	// snapshot.
	shutdownShare = 0.4
	// termAgain is how often the server is told again: while it writes its first append-only file it refuses to end.
	termAgain = time.Second
	// tryAgain is the rest between two attempts to hand over.
	tryAgain = 500 * time.Millisecond
)

// stop hands the primary's place over if this node holds it, and ends the server.
func (a *Agent) stop(signals *process.Signals) {
	began := time.Now()
	a.mu.Lock()
	a.report.Phase, a.report.Since = probe.PhaseStopping, began.UTC()
	a.mu.Unlock()
	handover := time.Duration(float64(a.options.Grace) * (1 - shutdownShare))
	ctx, cancel := context.WithTimeout(context.Background(), handover)
	go signals.Demand(ctx, cancel)
	a.handOver(ctx)
	cancel()

	look, cancel := context.WithTimeout(context.Background(), probeTimeout)
	if m := a.lookAtSelf(look); m.Reach.OK() {
		a.note(look, m, true)
	}
	cancel()
	a.end(began.Add(a.options.Grace))
}

// handOver makes a replica in sync the primary, without losing a write, if this node is the primary and there is one.
func (a *Agent) handOver(ctx context.Context) {
	log := a.options.Log
	for ctx.Err() == nil {
		settings, err := a.options.settings()
		if err != nil || len(settings.Members) < 2 {
			return
		}
		s := newSet(settings, a.options)
		if m := a.lookAtSelf(ctx); !m.Reach.OK() || m.Role != topology.RolePrimary || len(m.Connected) == 0 {
			log.Info("nothing to hand over, or nobody to hand over to", "role", m.Role, "replicas", len(m.Connected))
			return
		}
		request := operation.Request{Mode: operation.Coordinated}
		if config, err := a.options.baseConfig(); err == nil {
			request.PingPeriod, request.LinkTimeout = valkeyconf.LinkTimes(config)
		}
		if s.Mode == decision.ModeSentinel && len(s.Sentinels) > 0 {
			if a.options.sentinelCredentials().Password == "" {
				log.Warn("nothing is handed over: no password for the Sentinels, who will see the end of this server and fail over")
				return
			}
			request.Monitor = s.MonitorName
		}
		stopping := a.stopping(ctx, s)
		subject := a.subject(s, func(member boot.Endpoint) bool { return stopping[member.Name] })
		if len(subject.Members) < 2 {
			log.Info("nobody to hand over to: the other members are stopping, or not there")
			return
		}
		result, err := operation.Failover{Clients: a.clients}.Do(ctx, subject, request)
		var refused *operation.Refused
		switch {
		case err == nil:
			log.Info("handed over", "result", result.Summary(), "paused", result.Paused.Round(time.Millisecond))
			return
		case errors.As(err, &refused) && !refused.Temporary():
			log.Warn("nothing is handed over", "err", err)
			return
		}
		log.Warn("not handed over yet", "err", err)
		pause(ctx, tryAgain)
	}
}

// stopping are the members that are about to end, too.
func (a *Agent) stopping(ctx context.Context, s set) map[string]bool {
	stopping := map[string]bool{}
	for name, report := range a.reports(ctx, s.Members) {
		stopping[name] = report.Phase == probe.PhaseStopping
	}
	return stopping
}

// end ends the server and notes whether it ended well. It does not kill: what a slow snapshot may take is for the pod's grace
// period to say, and the kubelet ends it.
func (a *Agent) end(deadline time.Time) {
	again := time.NewTicker(termAgain)
	defer again.Stop()
	late := time.After(time.Until(deadline))
	a.child.Signal(syscall.SIGTERM)
	for {
		select {
		case <-again.C:
			a.child.Signal(syscall.SIGTERM)
			continue
		case <-late:
			a.options.Log.Warn("the server takes longer to end than the grace period allows")
			continue
		case <-a.child.Done():
		}
		break
	}
	if a.child.ExitCode() != 0 {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	r := *a.record
	r.Clean = true
	if err := r.Save(a.recordFile()); err != nil {
		a.options.Log.Warn("the record of this node cannot be written", "err", err)
	}
}
