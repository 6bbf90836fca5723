// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package sentinel

import (
	"context"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/valkeykube/valkeykube/pkg/controller/sentinel/plan"
	"github.com/valkeykube/valkeykube/pkg/inspect"
	"github.com/valkeykube/valkeykube/pkg/naming"
	"github.com/valkeykube/valkeykube/pkg/topology"
	"github.com/valkeykube/valkeykube/pkg/valkeyclient"
)

const (
	// probeTimeout bounds the look at one process: a dead one must not hold up what can be done about the others.
	probeTimeout = 1500 * time.Millisecond
	// mostAsked is how many processes are asked at a time for one set.
	mostAsked = 32
)

func (r *reconciler) inspector() inspect.Inspector {
	return inspect.Inspector{Clients: r.deps.Valkey, ProbeTimeout: probeTimeout, Parallel: mostAsked, Now: r.now}
}

// lookAtSentinels asks every Sentinel that is wanted or exists what it holds, and about those monitors with more peers or replicas than
// there should be also whom it counts.
func (r *reconciler) lookAtSentinels(ctx context.Context, o *observation) {
	o.sentinels = map[int]valkeyclient.Target{}
	count := plan.SentinelCount(o.Observed)
	o.Sentinels = make([]plan.Sentinel, count)
	credentials := valkeyclient.Credentials{Username: naming.UserOperator, Password: o.password(naming.UserOperator)}
	for i := range count {
		name := naming.SentinelPod(o.Set.Name, i)
		o.Sentinels[i].View = topology.SentinelView{
			Name: name, Reach: topology.Reach{Class: topology.ReachUnreachable, Text: "no pod has an address", When: o.Now},
		}
		if pod := o.Objects.Pods[name]; pod != nil && pod.DeletionTimestamp == nil {
			if address := r.places.DialSentinel(pod); address != "" {
				o.sentinels[i] = o.encryption.On(valkeyclient.Target{Name: name, Address: address, Credentials: credentials})
			}
		}
	}
	var all sync.WaitGroup
	for i, target := range o.sentinels {
		all.Go(func() {
			o.Sentinels[i] = r.lookAtSentinel(ctx, target)
			o.Sentinels[i].Served = r.servedBy(ctx, o, o.Objects.Pods[target.Name], o.Sentinels[i].View.Reach.OK())
		})
	}
	all.Wait()
	for _, name := range plan.NeedsPeers(o.Observed) {
		r.lookAtPeers(ctx, o, name)
	}
}

// lookAtSentinel asks one Sentinel which process it is and what it holds.
func (r *reconciler) lookAtSentinel(ctx context.Context, target valkeyclient.Target) plan.Sentinel {
	seen := plan.Sentinel{}
	infoCtx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	client, err := r.deps.Valkey.Sentinel(target)
	if err == nil {
		var info valkeyclient.Info
		info, err = client.Info(infoCtx, "server", "sentinel")
		seen.Run, seen.Tilt, seen.Version = info["run_id"], info["sentinel_tilt"] == "1", info["valkey_version"]
		seconds, _ := strconv.Atoi(info["uptime_in_seconds"]) // without it, the process counts as young
		seen.Uptime = time.Duration(seconds) * time.Second
	}
	// Whatever went wrong will go wrong again, and the look says what it is.
	seen.View = r.inspector().Look(ctx, inspect.Subject{Sentinels: []valkeyclient.Target{target}}).Sentinels[0]
	if err != nil && seen.View.Reach.OK() {
		seen.View.Reach = topology.Reach{Class: topology.ReachError, Text: err.Error(), When: seen.View.Reach.When}
		seen.View.Monitors = nil
	}
	return seen
}

// lookAtPeers adds to every view of one monitor whom the Sentinel counts.
func (r *reconciler) lookAtPeers(ctx context.Context, o *observation, monitor string) {
	var targets []valkeyclient.Target
	var indices []int
	for i, target := range o.sentinels {
		if o.Sentinels[i].View.Reach.OK() {
			targets, indices = append(targets, target), append(indices, i)
		}
	}
	looked := r.inspector().Look(ctx, inspect.Subject{Sentinels: targets, Monitor: monitor, Peers: true})
	for n, answer := range looked.Sentinels {
		if view, ok := answer.Monitors[monitor]; ok && answer.Reach.OK() {
			o.Sentinels[indices[n]].View.Monitors[monitor] = view
		}
	}
}

// lookAgain is the observation with a fresh look at the Sentinels.
func (r *reconciler) lookAgain(ctx context.Context, o observation) observation {
	o.Valkeys = slices.Clone(o.Valkeys)
	r.lookAtSentinels(ctx, &o)
	o.Now = r.now()
	return o
}
