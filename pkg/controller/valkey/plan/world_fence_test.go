// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"fmt"
	"time"

	"github.com/valkeykube/valkeykube/pkg/agent/fence"
	"github.com/valkeykube/valkeykube/pkg/apis/valkey/v1alpha1"
)

// wrongAtMost is for how many seconds a primary may take writes after another was promoted over it: what is left of the time in which it was
// promoted itself, and then what its agent needs. After a cut alone it is less, since that time begins with the cut.
const wrongAtMost = 12

// fences lets every agent look at its server, as package node of the agent does.
func (w *world) fences() {
	for _, n := range w.sorted() {
		if !n.server.running || n.server.waiting {
			n.fence, n.wrong = fence.State{Joined: true}, 0
			continue
		}
		look := fence.Look{
			Primary: n.server.primary, Alone: wantedNodes(w.valkey) == 1, Contact: -1, At: w.now, Acknowledged: w.acknowledged(n), Authority: w.authority(),
		}
		if fence.MustAsk(look) {
			look.Asked = true
			w.askAuthority(n, &look)
		}
		n.fence = n.fence.Next(look)
		// Where the only Sentinel that knew of the successor is gone, the others make the former primary the primary again.
		named, said := w.sentinelMajority()
		isWrong := look.Authority != fence.Nobody && w.successorOf(n) != nil && (!said || named != n.index)
		if n.server.primary && !n.fence.Closed && !look.Acknowledged && isWrong {
			n.wrong++
		} else {
			n.wrong = 0
		}
	}
}

func (w *world) authority() fence.Authority {
	switch w.valkey.Spec.Failover.Mode {
	case v1alpha1.FailoverModeSentinel:
		return fence.Sentinels
	case v1alpha1.FailoverModeOperator:
		return fence.Controller
	default:
		return fence.Nobody
	}
}

func (w *world) acknowledged(n *simNode) bool {
	for _, other := range w.sorted() {
		if other.live() && n.live() && !other.server.primary && other.server.linked && other.server.of == n.index {
			return true
		}
	}
	return false
}

func (w *world) askAuthority(n *simNode, look *fence.Look) {
	if look.Authority == fence.Controller {
		if !n.asked.IsZero() {
			look.Contact = w.now.Sub(n.asked)
		}
		if successor := w.successorOf(n); successor.live() && n.live() {
			look.Successor = successor.object.Name
		}
		return
	}
	for _, s := range w.sentinels {
		said := fence.Sentinel{Reached: s.up && n.live()}
		if said.Reached && s.registered {
			said.Names, said.Another, said.Epoch = s.names == n.index, s.names != n.index, s.epoch
			said.Down = s.names == n.index && (s.downFor > 3 || s.inFlight > 0)
		}
		look.Sentinels = append(look.Sentinels, said)
	}
}

// successorOf is a primary that was promoted from what the node holds; nil for none.
func (w *world) successorOf(n *simNode) *simNode {
	for _, other := range w.sorted() {
		if s := other.server; other != n && s.running && !s.waiting && s.primary && s.older == n.server.history {
			return other
		}
	}
	return nil
}

// checkFences: a primary that was replaced does not go on taking writes.
func (w *world) checkFences() error {
	w.fences()
	if w.valkey.Spec.Failover.Mode == v1alpha1.FailoverModeNone {
		return nil
	}
	for _, n := range w.sorted() {
		if n.wrong > wrongAtMost {
			return fmt.Errorf("node %d has been taking writes for %s after another was promoted over it", n.index, time.Duration(n.wrong)*time.Second)
		}
	}
	return nil
}
