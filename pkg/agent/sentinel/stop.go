// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package sentinel

import (
	"context"
	"fmt"
	"syscall"
	"time"

	"github.com/valkeykube/valkeykube/pkg/agent/probe"
	"github.com/valkeykube/valkeykube/pkg/agent/process"
)

const (
	// finishPatience bounds the wait for failovers at the end of the pod, well within its grace period.
	finishPatience = 8 * time.Second
	// finishAgain is the time between two looks.
	finishAgain = 100 * time.Millisecond
	// stateReconfigure and what follows it come after the promotion: what is left then is to tell the replicas, which others do too.
	stateReconfigure, stateUpdate = "reconf_slaves", "update_config"
)

// stop ends the Sentinel, after the failovers that it leads. One that ended between a promotion and its announcement would leave its peers with
// an old primary that is a replica now; half a minute later they would promote a third node, with what the second was told meanwhile lost.
func (a *Agent) stop(signals *process.Signals, child *process.Child) {
	a.setPhase(probe.PhaseStopping)
	ctx, cancel := context.WithTimeout(context.Background(), finishPatience)
	defer cancel()
	go signals.Demand(ctx, cancel)
	said := ""
	for ctx.Err() == nil {
		unfinished := a.unfinished(ctx)
		if unfinished == "" {
			break
		}
		if unfinished != said {
			a.options.Log.Info("the Sentinel does not end yet", "why", unfinished)
			said = unfinished
		}
		pause(ctx, finishAgain)
	}
	child.Signal(syscall.SIGTERM)
}

// unfinished says what would be lost if the Sentinel ended now: a failover before its promotion, or one of which a peer has not heard. Empty:
// nothing, as far as can be seen.
func (a *Agent) unfinished(ctx context.Context) string {
	client, err := a.ownSentinel()
	if err != nil {
		return ""
	}
	monitors, err := client.Monitors(ctx)
	if err != nil {
		a.options.Log.Info("the Sentinel does not say whether it leads a failover", "err", err)
		return ""
	}
	for _, monitor := range monitors {
		isPromoted := monitor.FailoverState == stateReconfigure || monitor.FailoverState == stateUpdate
		if monitor.Flags.Has("failover_in_progress") && !isPromoted {
			return fmt.Sprintf("it leads a failover of %s (%s)", monitor.Name, monitor.FailoverState)
		}
	}
	for _, peer := range a.recall(ctx).running {
		for _, monitor := range monitors {
			if known, watches := peer.monitors[monitor.Name]; watches && known.configEpoch < monitor.ConfigEpoch {
				return fmt.Sprintf("%s has not heard of the last failover of %s", peer.name, monitor.Name)
			}
		}
	}
	return ""
}
