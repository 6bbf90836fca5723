// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"fmt"
	"slices"
	"strings"

	"github.com/valkeykube/valkeykube/pkg/apis/valkey/v1alpha1"
	"github.com/valkeykube/valkeykube/pkg/naming"
	"github.com/valkeykube/valkeykube/pkg/topology"
)

// mostScaledAway is how many indices beyond the set's size are recognised as Sentinels of the set that were scaled away.
const mostScaledAway = 64

// stepForget makes the Sentinels forget pods that were scaled away: a Sentinel that is gone for good would count for ever among those a
// majority is needed of, and a replica that is gone among those that are down. Nothing but SENTINEL RESET does it, and for up to 15 s after
// it that Sentinel knows no replica that it could promote. So it is done to one Sentinel at a time, while the primary is healthy, every
// replica is linked, and all others know them all; and only where there is somebody to forget. It is disruptive.
func stepForget(d *draft) {
	var due []string
	target, whom := -1, ""
	for i := range d.plan.monitors {
		m := &d.plan.monitors[i]
		for _, at := range d.views(m.name) {
			ghosts := d.ghosts(m, at)
			if len(ghosts) == 0 || at.index >= d.plan.size {
				continue
			}
			d.unwell = true
			if target >= 0 && target != at.index {
				continue
			}
			if why := d.whyNotReset(m, at.index); why != "" {
				d.block(v1alpha1.ReasonForgetting, "Sentinel %d is made to forget %s when %s", at.index, strings.Join(ghosts, ", "), why)
				continue
			}
			target, whom = at.index, strings.Join(ghosts, ", ")
			due = append(due, m.name)
			break
		}
	}
	if len(due) == 0 {
		return
	}
	d.waiting = true
	if d.disruptive || d.isRegistering() {
		d.block(v1alpha1.ReasonForgetting, "Sentinel %d is made to forget %s after something else", target, whom)
		return
	}
	slices.Sort(due)
	d.do(Reset{Sentinel: target, Monitors: due, Why: "to forget " + whom})
}

// ghosts are the names of the Sentinels and replicas that a Sentinel counts and that are gone for good.
func (d *draft) ghosts(m *monitor, at held) []string {
	var found []string
	if at.view.NumOtherSentinels > d.plan.size-1 {
		present, gone := d.identities()
		for _, peer := range at.view.Peers {
			switch name, known := gone[peer.ID]; {
			case present[peer.ID]:
			case known:
				found = append(found, name)
			case peer.SubjectDown:
				found = append(found, "Sentinel "+peer.Address.String())
			default:
				d.noteForeign(fmt.Sprintf("Sentinel %s takes part in monitor %s and is not one of ours", peer.Address, m.name))
			}
		}
	}
	for _, replica := range at.view.Replicas {
		if _, known := memberAt(m.valkey.Members, replica.Address); !known && nodeAt(*m.valkey, replica.Address) < 0 && replica.SubjectDown {
			found = append(found, "replica "+replica.Address.String())
		}
	}
	return found
}

func (d *draft) noteForeign(text string) {
	if !slices.Contains(d.plan.foreign, text) {
		d.plan.foreign = append(d.plan.foreign, text)
	}
}

// identities are the ids of the Sentinels that are there or may come back, and, by id, the names of pods that were scaled away and are gone.
func (d *draft) identities() (present map[string]bool, gone map[string]string) {
	present, gone = map[string]bool{}, map[string]string{}
	for i := range d.plan.size + mostScaledAway {
		pod := naming.SentinelPod(d.Set.Name, i)
		id := naming.SentinelID(string(d.Set.UID), pod)
		if _, exists := d.Objects.Pods[pod]; i < d.plan.size || exists {
			present[id] = true
		} else {
			gone[id] = "Sentinel " + pod
		}
	}
	return present, gone
}

// whyNotReset says what is missing for a RESET of a monitor on one Sentinel.
func (d *draft) whyNotReset(m *monitor, target int) string {
	switch {
	case m.hold != "":
		return m.hold
	case m.primary.IsZero():
		return "the primary is known (" + m.why + ")"
	case m.valkey.Members == nil:
		return "its nodes have been looked at"
	}
	for _, member := range m.valkey.Members {
		if !member.Reach.OK() || member.Role == topology.RoleReplica && !member.LinkUp {
			return fmt.Sprintf("node %s is linked", member.Name)
		}
	}
	replicas := len(m.valkey.Members) - 1
	for i := range d.plan.size {
		if !d.reachOf(i).OK() {
			return fmt.Sprintf("Sentinel %d answers", i)
		}
		view, ok := d.Sentinels[i].View.Monitors[m.name]
		if !ok || !isQuiet(view) {
			return fmt.Sprintf("Sentinel %d sees the primary", i)
		}
		if i != target && view.NumReplicas < replicas {
			return fmt.Sprintf("Sentinel %d has found the replicas again", i)
		}
	}
	return ""
}
