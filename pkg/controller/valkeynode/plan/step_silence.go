// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"time"

	"github.com/valkeykube/valkeykube/pkg/topology"
)

// silencePatience is how long a server in a ready pod may leave the controller's questions unanswered before status says so. A long script or a
// busy machine is no reason to call a node unready and ready again; if the server is really gone, its own probe says so first.
const silencePatience = 6 * time.Second

// stepSilence decides whether a server that does not answer is waited for, with the status as it was.
func stepSilence(d *draft) {
	isSilent := false
	switch d.Server.Reach.Class {
	case topology.ReachUnreachable, topology.ReachTimeout, topology.ReachError:
		isSilent = IsReady(d.Pod())
	}
	if !isSilent {
		d.plan.Memory.SilentSince = time.Time{}
		return
	}
	if d.plan.Memory.SilentSince.IsZero() {
		d.plan.Memory.SilentSince = d.Now
	}
	if d.Node.Status.Ready && d.Now.Sub(d.plan.Memory.SilentSince) < silencePatience {
		d.logf("the server does not answer; it is asked again")
		d.plan.waitsForWord, d.soon = true, true
	}
}
