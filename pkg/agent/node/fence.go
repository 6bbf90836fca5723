// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package node

import (
	"context"
	"errors"
	"strconv"
	"time"

	"github.com/valkeykube/valkeykube/pkg/agent/decision"
	"github.com/valkeykube/valkeykube/pkg/agent/fence"
	"github.com/valkeykube/valkeykube/pkg/agent/probe"
	"github.com/valkeykube/valkeykube/pkg/boot"
	"github.com/valkeykube/valkeykube/pkg/inspect"
	"github.com/valkeykube/valkeykube/pkg/naming"
	"github.com/valkeykube/valkeykube/pkg/topology"
	"github.com/valkeykube/valkeykube/pkg/valkeyclient"
	"github.com/valkeykube/valkeykube/pkg/valkeyconf"
)

const (
	keyMinReplicas = "min-replicas-to-write"
	keyMaxLag      = "min-replicas-max-lag"
	// usualLag is the server's own for keyMaxLag; fenceLag is what it is while writes are refused, and after how much silence of all
	// replicas the authority is asked, in seconds. Replicas acknowledge every second.
	usualLag = 10
	fenceLag = 2
)

// fencing is the fence of a running server. Writes are refused by the server itself, which takes them again at once when a replica
// acknowledges.
type fencing struct {
	state fence.State
	// set: the server was told to refuse. warned: that it cannot be told was logged.
	set, warned bool
}

// lags are the settings of the fence: what of the user's configuration it goes by.
type lags struct {
	// off: the user decides by own settings how many replicas a write needs.
	off bool
	// silence of all replicas that counts, and the setting while writes are refused and while they are not, in seconds.
	silence, closed, open int
}

// lagsOf reads them from the server's configuration.
func lagsOf(config valkeyconf.Config) lags {
	l := lags{silence: fenceLag, closed: fenceLag, open: usualLag}
	for _, directive := range config {
		switch valkeyconf.Canonical(directive.Name) {
		case keyMinReplicas:
			l.off = true
		case keyMaxLag:
			lag, err := strconv.Atoi(directive.Value())
			l.off = l.off || err != nil || lag < 1
			l.silence, l.closed, l.open = max(lag, fenceLag), lag, lag
		}
	}
	return l
}

// guard refuses writes, or takes them again, by a look at the own server.
func (a *Agent) guard(ctx context.Context, f *fencing, m topology.Member) {
	settings, err := a.options.settings()
	if err != nil {
		return
	}
	config, err := a.options.baseConfig()
	if err != nil {
		return
	}
	l := lagsOf(config)
	s := newSet(settings, a.options)
	look := fence.Look{
		Primary: m.Role == topology.RolePrimary && !m.Loading, Alone: len(s.Members) < 2, Authority: authority(s), At: time.Now(), Contact: -1,
		Acknowledged: fence.Acknowledged(m, time.Duration(l.silence)*time.Second),
	}
	if l.off {
		look.Authority = fence.Nobody
	}
	if fence.MustAsk(look) {
		look.Asked = true
		switch look.Authority {
		case fence.Sentinels:
			look.Sentinels = a.askSentinels(ctx, s)
		case fence.Controller:
			look.Contact, look.Successor = a.contact(ctx, f), a.succeeded(ctx, s, m)
		}
		if ctx.Err() != nil {
			return
		}
	}
	before := f.state
	f.state = f.state.Next(look)
	a.fence(ctx, f, l)
	if f.set && m.Full {
		a.makeRoom(ctx)
	}
	if f.state.Closed != before.Closed {
		a.options.Log.Warn("fence", "closed", f.state.Closed, "reason", f.state.Reason)
	}
	a.update(func(n *probe.Node) {
		n.Fence = nil
		if f.state.Closed {
			n.Fence = &probe.Fence{Since: f.state.Since.UTC(), Reason: f.state.Reason}
		}
	})
}

func authority(s set) fence.Authority {
	switch {
	case s.Mode == decision.ModeSentinel && len(s.Sentinels) > 0:
		return fence.Sentinels
	case s.Mode == decision.ModeOperator:
		return fence.Controller
	}
	return fence.Nobody
}

// fence tells the server, once. It is told again when that failed.
func (a *Agent) fence(ctx context.Context, f *fencing, l lags) {
	if f.state.Closed == f.set {
		return
	}
	replicas, lag := "0", l.open
	if f.state.Closed {
		replicas, lag = "1", l.closed
	}
	settings := []valkeyclient.Setting{{Key: keyMinReplicas, Value: replicas}, {Key: keyMaxLag, Value: strconv.Itoa(lag)}}
	if l.off { // since the fence was closed; what the user wants of it is set by the controller
		f.set = false
		return
	}
	if err := a.configure(ctx, settings...); err != nil {
		a.options.Log.Warn("the server cannot be told to refuse writes, or to take them again", "err", err)
		return
	}
	f.set = f.state.Closed
}

// login is what let the agent in last.
func (a *Agent) login() valkeyclient.Credentials {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.worked
}

// askSentinels asks all of them for their view of this node.
func (a *Agent) askSentinels(ctx context.Context, s set) []fence.Sentinel {
	subject := a.subject(s, func(boot.Endpoint) bool { return true })
	snapshot := inspect.Inspector{Clients: a.clients, ProbeTimeout: probeTimeout, Deadline: probeTimeout}.Look(ctx, subject)
	var said []fence.Sentinel
	for _, view := range snapshot.Sentinels {
		one := fence.Sentinel{Reached: view.Reach.OK() || answersOthers(view.Reach.Class)}
		if monitor, holds := view.Monitors[s.MonitorName]; holds {
			one.Names = s.nameOf(monitor.Primary) == s.self.Name
			one.Another, one.Epoch = !one.Names, monitor.ConfigEpoch
			one.Down = monitor.SubjectDown || monitor.ObjectDown || monitor.FailoverInProgress
		}
		said = append(said, one)
	}
	return said
}

// succeeded is the member that was promoted from this node's data.
func (a *Agent) succeeded(ctx context.Context, s set, own topology.Member) string {
	subject := a.subject(s, func(member boot.Endpoint) bool { return member.Name == s.self.Name })
	subject.Sentinels = nil
	snapshot := inspect.Inspector{Clients: a.clients, ProbeTimeout: probeTimeout, Deadline: probeTimeout}.Look(ctx, subject)
	for _, member := range snapshot.Members {
		if member.Succeeds(own) {
			return member.Name
		}
	}
	return ""
}

// contact is how long ago the controller asked the own server for something; negative if it does not.
func (a *Agent) contact(ctx context.Context, f *fencing) time.Duration {
	node, err := a.clients.Node(a.own(a.login()))
	if err != nil {
		return -1
	}
	clients, err := node.ClientList(ctx)
	switch {
	case errors.Is(err, valkeyclient.ErrPermission):
		// The server has not loaded the file with this right yet: to refuse writes for that would be worse.
		if !f.warned {
			a.options.Log.Warn("the agent may not see whether the controller is connected: writes are not refused", "err", err)
		}
		f.warned = true
		return 0
	case err != nil:
		return -1
	}
	latest := time.Duration(-1)
	for _, client := range clients {
		if client.User == naming.UserOperator && (latest < 0 || client.Idle < latest) {
			latest = client.Idle
		}
	}
	return latest
}
