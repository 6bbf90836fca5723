// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"maps"
	"slices"
	"time"

	"github.com/valkeykube/valkeykube/pkg/apis/valkey/v1alpha1"
	"github.com/valkeykube/valkeykube/pkg/naming"
	"github.com/valkeykube/valkeykube/pkg/topology"
)

func (w *world) sorted() []*simNode {
	all := make([]*simNode, 0, len(w.nodes))
	for i := range 16 {
		if n := w.nodes[i]; n != nil {
			all = append(all, n)
		}
	}
	return all
}

// live tells whether a server talks to its peers.
func (n *simNode) live() bool { return n != nil && n.server.running && !n.server.waiting && !n.cut }

// advance lets a second pass: kubelets, node controller, agents, replication, clients, Sentinels.
func (w *world) advance() {
	w.now = w.now.Add(time.Second)
	w.leaving = nil
	for _, n := range w.sorted() {
		n.stale, n.stalePod = n.object, n.pod
		w.nodeController(n)
		w.kubelet(n)
	}
	for _, n := range w.sorted() {
		w.replicate(n)
	}
	w.write()
	w.sentinelsAct()
	w.userActs()
	for _, n := range w.sorted() {
		s := n.server
		n.setPod(s.running, s.running && !s.waiting && (s.primary || s.linked))
		if n.server.running && w.persistent() && s.syncLeft == 0 {
			w.volumes[n.index] = s.data
		}
		if n.replaced && s.running && !s.waiting && (s.linked || s.primary) && n.pod.Annotations[naming.AnnotationRevision] == n.awaited {
			n.replaced = false
		}
	}
}

// nodeController keeps the node's status and replaces its pod when it may.
func (w *world) nodeController(n *simNode) {
	status := n.object.Status
	rev := revision(n.object.Spec)
	switch {
	case status.WorkloadRevision == "":
		status.WorkloadRevision = rev
	case rev == status.WorkloadRevision:
		status.PendingRevision = ""
	case n.object.Spec.WorkloadRevision == rev:
		status.WorkloadRevision, status.PendingRevision = rev, ""
		w.stopPod(n)
	default:
		status.PendingRevision = rev
	}
	status.ObservedGeneration = n.object.Generation
	if status.WorkloadRevision != n.object.Status.WorkloadRevision || status.PendingRevision != n.object.Status.PendingRevision ||
		status.ObservedGeneration != n.object.Status.ObservedGeneration {
		object := *n.object
		object.Status = status
		n.object = &object
	}
}

// stopPod takes the pod away. What was in memory only is gone.
func (w *world) stopPod(n *simNode) {
	n.pod, n.server = nil, server{}
	n.podLeft = 1 + w.random.IntN(3)
}

func (w *world) kubelet(n *simNode) {
	if n.pod == nil {
		if n.podLeft--; n.podLeft > 0 {
			return
		}
		n.pod, n.podLeft = w.newPod(n), 1+w.random.IntN(2)
		return
	}
	if n.server.running {
		if n.server.waiting {
			w.boot(n)
		}
		return
	}
	if n.podLeft--; n.podLeft > 0 || n.pod.Annotations[naming.AnnotationRevision][:len("no/such")] == "no/such" {
		return
	}
	n.server = server{running: true, waiting: true, data: w.volumes[n.index]}
	if n.server.history == "" || !w.persistent() {
		n.server.data = data{history: w.id("history")}
	}
	w.boot(n)
}

// boot is the agent's decision (design, section 7), as far as it matters here.
func (w *world) boot(n *simNode) {
	s := &n.server
	s.waited++
	start := func(primary bool, of int) { s.waiting, s.primary, s.of, s.linked = false, primary, of, false }
	if n.cut {
		return
	}
	if name, ok := w.sentinelMajority(); ok && name != n.index {
		start(false, name)
		return
	}
	data := false
	for _, peer := range w.sorted() {
		if peer.index == n.index || !peer.live() {
			continue
		}
		if peer.server.primary && (peer.server.value > 0 || s.value == 0) {
			start(false, peer.index)
			return
		}
		data = data || peer.server.value > 0
	}
	name, named := w.sentinelMajority()
	mine := w.hint == n.index || named && name == n.index || w.hint < 0 && n.index == 0
	switch {
	case mine && (s.value > 0 && (w.persistent() || !data) || !data):
		start(true, 0)
		if s.older == "" {
			s.older, s.olderAt = s.history, s.offset
			s.history = w.id("history")
		}
	case s.waited < 8:
	case mine:
		// It holds nothing that its peers lack: it follows one of them, and whoever has authority promotes one.
		for _, peer := range w.sorted() {
			if peer.live() && peer.index != n.index && peer.server.value > 0 {
				start(false, peer.index)
				return
			}
		}
	case w.hint >= 0:
		start(false, w.hint)
	}
}

func (w *world) sentinelMajority() (int, bool) {
	if w.valkey.Spec.Failover.Mode != v1alpha1.FailoverModeSentinel {
		return 0, false
	}
	epoch, voters, votes := int64(-1), 0, map[int]int{}
	for _, s := range w.sentinels {
		if !s.up || !s.registered {
			continue
		}
		voters++
		if s.epoch > epoch {
			epoch = s.epoch
			clear(votes)
		}
		if s.epoch == epoch {
			votes[s.names]++
		}
	}
	best := 0
	for _, name := range slices.Sorted(maps.Keys(votes)) {
		if votes[name] > votes[best] {
			best = name
		}
	}
	return best, voters >= 2
}

// holds tells whether everything in the other is in the first.
func (d data) holds(other data) bool {
	return other.history == d.history && other.offset <= d.offset || other.history == d.older && other.offset <= d.olderAt
}

func (w *world) replicate(n *simNode) {
	s := &n.server
	if !s.running || s.waiting || s.primary {
		return
	}
	leader := w.nodes[s.of]
	if !n.live() || !leader.live() || s.of == n.index || !leader.server.primary && !leader.server.linked {
		s.linked, s.syncLeft = false, 0
		s.downFor++
		return
	}
	from := leader.server.data
	switch {
	case s.linked:
		s.data = from
	case s.syncLeft > 1:
		s.syncLeft--
	case s.syncLeft == 1 || from.holds(s.data):
		s.data, s.linked, s.syncLeft, s.everLinked, s.downFor = from, true, 0, true, 0
	default:
		// A full copy: the old data go first.
		s.data, s.syncLeft = data{history: w.id("history")}, 1+w.random.IntN(3)
		if w.persistent() {
			delete(w.volumes, n.index)
		}
	}
}

// routed is the node that clients of the primary's Service reach.
func (w *world) routed() *simNode {
	for _, n := range w.nodes {
		if n.pod != nil && string(n.pod.UID) == w.endpoints {
			return n
		}
	}
	return nil
}

func (w *world) write() {
	n := w.routed()
	if n.live() && n.paused > 0 {
		n.paused--
		return
	}
	if n.live() && n.server.primary && !n.fence.Closed && w.chance(70) {
		n.server.value++
		n.server.offset += 10
		for _, r := range w.sorted() {
			if r.live() && !r.server.primary && r.server.linked && r.server.of == n.index {
				r.server.data = n.server.data
			}
		}
	}
}

// turn makes a server the primary with the data it has, under a new history.
func (w *world) turn(n *simNode) {
	s := &n.server
	s.primary, s.linked, s.syncLeft = true, false, 0
	s.older, s.olderAt, s.history = s.history, s.offset, w.id("history")
}

func (w *world) follow(n *simNode, of int) {
	s := &n.server
	if s.primary || s.of != of {
		s.primary, s.of, s.linked, s.syncLeft = false, of, false, 0
	}
}

// sentinelsAct registers, detects, fails over and corrects, as real ones do, a few seconds late.
func (w *world) sentinelsAct() {
	if w.valkey.Spec.Failover.Mode != v1alpha1.FailoverModeSentinel {
		for i := range w.sentinels {
			w.sentinels[i].registered = false
		}
		w.wasMonitored = false
		return
	}
	w.register()
	var leader *sentinel
	agree := 0
	for i := range w.sentinels {
		s := &w.sentinels[i]
		if !s.up || !s.registered {
			continue
		}
		for _, peer := range w.sentinels {
			if peer.up && peer.registered && peer.epoch > s.epoch && w.chance(70) {
				s.names, s.epoch, s.downFor = peer.names, peer.epoch, 0
			}
		}
		s.downFor++
		if n := w.nodes[s.names]; n.live() && n.server.primary {
			s.downFor = 0
		}
		if s.inFlight > 0 {
			s.inFlight--
		}
		if s.downFor > 3 {
			agree++
			leader = s
		}
	}
	if leader != nil && agree >= 2 && leader.inFlight == 0 {
		w.sentinelFailover(leader)
	}
	w.sentinelsCorrect()
}

// register is the Sentinel controller's part.
func (w *world) register() {
	for i := range w.sentinels {
		s := &w.sentinels[i]
		if name := w.believed(); s.registered && s.names != name && w.nodes[name].live() && w.nodes[name].server.primary && w.chance(30) {
			s.names, s.downFor = name, 0 // one that monitors something else is put right
		}
		if s.registered || !s.up {
			continue
		}
		if name, ok := w.sentinelMajority(); ok {
			best := slices.MaxFunc(w.sentinels[:], func(a, b sentinel) int { return int(a.epoch - b.epoch) })
			*s = sentinel{up: true, registered: true, names: name, epoch: best.epoch}
			continue
		}
		if w.valkey.Status.Primary != "" && w.wasMonitored {
			// It starts from the boot settings that the controller left.
			*s = sentinel{up: true, registered: true, names: w.index(w.valkey.Status.Primary)}
			continue
		}
		var primaries []int
		for _, n := range w.sorted() {
			if n.live() && !n.hidden && n.server.primary {
				primaries = append(primaries, n.index)
			}
		}
		if len(primaries) == 1 && w.chance(50) {
			w.wasMonitored = true
			*s = sentinel{up: true, registered: true, names: primaries[0]}
		}
	}
}

// believed is whom the Sentinel controller takes for the primary.
func (w *world) believed() int {
	var seen topology.Snapshot
	for _, n := range w.sorted() {
		seen.Members = append(seen.Members, w.member(n))
	}
	for i, s := range w.sentinels {
		seen.Sentinels = append(seen.Sentinels, w.sentinelView(i, s))
	}
	return w.index(seen.SentinelPrimary("v").Member)
}

// tellSentinel makes one of them promote the node, which is primary already.
func (w *world) tellSentinel(to int) bool {
	if n := w.nodes[to]; !n.live() || n.hidden || !n.server.primary {
		return false
	}
	epoch := int64(0)
	for _, s := range w.sentinels {
		epoch = max(epoch, s.epoch)
	}
	for i := range w.sentinels {
		if s := &w.sentinels[i]; s.up && s.registered {
			s.names, s.inFlight, s.downFor, s.epoch = to, 2, 0, epoch+1
			return true
		}
	}
	return false
}

// promotable is what the agent tells the Sentinels of a replica: one that started empty is not, until it has a copy, while others may hold data.
func (w *world) promotable(n *simNode) bool {
	if n.server.value > 0 || n.server.everLinked {
		return true
	}
	return !slices.ContainsFunc(w.sorted(), func(other *simNode) bool { return other.server.value > 0 || w.volumes[other.index].value > 0 })
}

func (w *world) sentinelFailover(leader *sentinel) {
	var best *simNode
	for _, n := range w.sorted() {
		if n.live() && !n.server.primary && n.server.syncLeft == 0 && w.promotable(n) && (best == nil || n.server.offset > best.server.offset) {
			best = n
		}
	}
	if best != nil {
		// A Sentinel knows nothing of keys. What it loses is not the controller's doing.
		w.sentinelsLost = w.sentinelsLost || best.server.value == 0
		w.turn(best)
		leader.names, leader.inFlight, leader.downFor = best.index, 2, 0
		for _, s := range w.sentinels {
			leader.epoch = max(leader.epoch, s.epoch)
		}
		leader.epoch++
	}
}

// sentinelsCorrect makes whoever else is primary, or follows somebody else, follow the Sentinels' primary, sooner or later.
func (w *world) sentinelsCorrect() {
	name, ok := w.sentinelMajority()
	if !ok || !w.nodes[name].live() || !w.nodes[name].server.primary {
		return
	}
	for _, n := range w.sorted() {
		if n.live() && n.index != name && w.chance(15) {
			w.follow(n, name)
		}
	}
}

// userActs carries on with what a person asked for.
func (w *world) userActs() {
	operation := w.valkey.Status.Operation
	if w.userLeft == 0 || operation == nil {
		return
	}
	if w.userLeft--; w.userLeft > 0 {
		return
	}
	ended := operation.DeepCopy()
	from, to := w.index(operation.From), w.index(operation.To)
	if w.userDies {
		if a := w.nodes[from]; a.live() {
			a.paused = 1 + w.random.IntN(10)
		}
		return
	}
	ended.Phase = v1alpha1.OperationFailed
	if w.handOver(from, to) {
		ended.Phase = v1alpha1.OperationSucceeded
	}
	w.valkey.Status.Operation = ended
}

func (w *world) index(name string) int {
	index, _ := naming.NodeIndex("v", name)
	return index
}

// handOver moves the primary without losing anything, or does nothing.
func (w *world) handOver(from, to int) bool {
	a, b := w.nodes[from], w.nodes[to]
	if !a.live() || !b.live() || a.hidden || b.hidden || !a.server.primary || b.server.primary || !b.server.linked || b.server.of != from {
		return false
	}
	b.server.data = a.server.data
	w.turn(b)
	w.follow(a, to)
	a.server.data = b.server.data
	a.server.linked, a.server.everLinked = true, true
	for _, n := range w.sorted() {
		if n.live() && n.index != to {
			w.follow(n, to)
		}
	}
	epoch := int64(0)
	for _, s := range w.sentinels {
		epoch = max(epoch, s.epoch)
	}
	for i := range w.sentinels {
		if s := &w.sentinels[i]; s.registered {
			s.names, s.epoch, s.downFor = to, epoch+1, 0
		}
	}
	return true
}
