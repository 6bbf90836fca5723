// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"fmt"
	"slices"
	"time"

	"github.com/valkeykube/valkeykube/pkg/apis/valkey/v1alpha1"
	"github.com/valkeykube/valkeykube/pkg/topology"
)

// grace is how long Sentinels that know better have to correct a peer by themselves, which takes them two seconds at most.
const grace = 10 * time.Second

// stepCorrect moves a monitor that is at another address than the real primary's: it is removed and registered anew. That is only for what
// the Sentinels cannot mend. A monitor that was registered at a replica, before there ever was a failover, stays there for ever; but
// an address that they have decided on (config-epoch 1 or more) is theirs to answer for, and a primary that cannot be reached from here
// may be one that they can reach. Nothing is moved while a failover is in flight.
func stepCorrect(d *draft) {
	for i := range d.plan.monitors {
		m := &d.plan.monitors[i]
		_, misplaced := d.placement(m)
		if len(misplaced) == 0 {
			continue
		}
		d.waiting = true
		if why := d.whyNotCorrect(m, misplaced); why != "" {
			d.block(v1alpha1.ReasonMonitorMisplaced, "monitor %s should be at %s: %s", m.name, m.primary, why)
			continue
		}
		for _, at := range misplaced {
			if d.isPatient(m, at) {
				continue
			}
			d.do(Remove{Sentinel: at.index, Run: at.run, Monitor: m.name, Why: "it was at " + at.view.Primary.String(), Replacing: true})
			d.do(d.registration(m, at, at.view.Primary)...)
		}
	}
}

// isPatient gives a Sentinel the time to learn of the right address from peers that have decided on it, and notes since when it is wrong.
func (d *draft) isPatient(m *monitor, at held) bool {
	if !d.isBehind(m, at) {
		return false
	}
	record, _ := d.record(at.run, m.name)
	if record.WrongSince.IsZero() {
		record = record.clone()
		record.WrongSince = d.Now
		d.believe(at.run, m.name, record)
		return true
	}
	return d.Now.Sub(record.WrongSince) < grace
}

// decidedOn tells whether a Sentinel knows, from a failover that is no older than the epoch, that the real primary is the primary.
func (d *draft) decidedOn(m *monitor, at held, epoch int64) bool {
	return at.view.ConfigEpoch > 0 && at.view.ConfigEpoch >= epoch && sameAddress(m.valkey.Members, at.view.Primary, m.primary)
}

// isBehind tells whether a misplaced Sentinel was left behind by a failover that its peers know of. One that took over the epoch and not the address,
// whose name it could not resolve at that moment, never hears of it again: to it, it is no news.
func (d *draft) isBehind(m *monitor, at held) bool {
	return slices.ContainsFunc(d.views(m.name), func(other held) bool { return d.decidedOn(m, other, at.view.ConfigEpoch) })
}

// whyNotCorrect says why a misplaced monitor is left as it is; empty when it may be moved.
func (d *draft) whyNotCorrect(m *monitor, misplaced []held) string {
	switch {
	case m.hold != "":
		return m.hold
	case m.password == "":
		return fmt.Sprintf("the system passwords of Valkey %s are not there", m.valkey.Object.Name)
	case len(d.reachable()) < majority(d.plan.size):
		return "most Sentinels do not answer"
	}
	decided := 0
	for _, at := range misplaced {
		if d.isStale(m, at.view.Primary) || d.isBehind(m, at) {
			continue
		}
		if at.view.ConfigEpoch > 0 {
			decided++
		}
		member, known := memberAt(m.valkey.Members, at.view.Primary)
		if known && !(member.Reach.OK() && member.Role == topology.RoleReplica) {
			return fmt.Sprintf("Sentinel %d holds %s, which does not answer here and may be primary", at.index, member.Name)
		}
	}
	if decided >= majority(d.plan.size) {
		return fmt.Sprintf("%d Sentinels have decided on another address, such as %s (config-epoch %d)",
			decided, misplaced[0].view.Primary, misplaced[0].view.ConfigEpoch)
	}
	return ""
}

// isStale tells whether an address is that of another Valkey's node: then the monitor is what a Valkey has left behind that had the name
// before, and says nothing about this one.
func (d *draft) isStale(m *monitor, address topology.Address) bool {
	return nodeAt(*m.valkey, address) < 0 && d.isNodeAddress(address)
}
