// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/valkeykube/valkeykube/pkg/apis/valkey/v1alpha1"
	"github.com/valkeykube/valkeykube/pkg/naming"
)

// check holds a plan against what the model knows and no controller can.
func (s *simulation) check(p Plan) error {
	disruptive := 0
	for _, action := range p.Actions {
		if action.Tier() == TierDisruptive {
			disruptive++
		}
		if err := s.checkAction(action); err != nil {
			return err
		}
	}
	if disruptive > 1 {
		return fmt.Errorf("%d disruptive actions in one plan", disruptive)
	}
	if disruptive == 1 && p.Actions[len(p.Actions)-1].Tier() != TierDisruptive {
		return fmt.Errorf("something is planned behind a disruptive action")
	}
	return nil
}

func (s *simulation) checkAction(action Action) error {
	switch a := action.(type) {
	case Follow:
		return s.checkFollow(s.nodes[s.index(a.Node)], s.nodes[s.index(a.Primary)])
	case CutOff:
		if n := s.nodes[s.index(a.Node)]; n != nil && n.server.primary && !n.hidden {
			return fmt.Errorf("the clients of a primary are cut off: %s", a)
		}
		return nil
	case Promote:
		if err := s.checkNoOtherChange(); err != nil {
			return err
		}
		if a.Monitor != "" {
			return s.checkTold(s.nodes[s.index(a.From)], s.nodes[s.index(a.To)])
		}
		return s.checkPromote(s.nodes[s.index(a.To)])
	case HandOver:
		if err := s.checkNoOtherChange(); err != nil {
			return err
		}
		return s.checkNobodyElseIsAway(s.index(a.To), false)
	case Replace:
		index := s.index(a.Node)
		if n := s.nodes[index]; n == nil || a.IdlePod != "" || !n.server.running {
			return nil // no server runs there, or it is not replaced: nothing is taken away
		}
		if err := s.checkNobodyElseIsAway(index, true); err != nil {
			return err
		}
		return s.checkNotTheLast(s.nodes[index], s.persistent())
	case RemoveNode:
		index := s.index(a.Node)
		if err := s.checkNobodyElseIsAway(index, false); err != nil {
			return err
		}
		if s.isOverruled(s.nodes[index]) {
			return nil
		}
		return s.checkNotTheLast(s.nodes[index], false)
	}
	return nil
}

// isOverruled tells whether a node is a former primary that is cut off, of which another is the recorded successor with data. What it took after that
// was lost with the failover: it is thrown away when the node comes back. A person who scales it away need not wait for that, which may never be.
func (s *simulation) isOverruled(n *simNode) bool {
	if n == nil || !n.cut || !n.server.primary {
		return false
	}
	successor := s.nodes[s.index(s.valkey.Status.Primary)]
	return successor != nil && successor != n && successor.live() && successor.server.primary && successor.server.value > 0
}

// checkNoOtherChange: at most one change of the primary at a time.
func (s *simulation) checkNoOtherChange() error {
	if operation := s.valkey.Status.Operation; operation != nil && operation.Phase == v1alpha1.OperationInProgress &&
		s.now.Before(operation.ExpiresAt.Time) && operation.To != s.valkey.Status.Primary {
		if n := s.nodes[s.index(operation.To)]; n == nil || !n.server.primary {
			return fmt.Errorf("changes the primary while %s does", operation.RequestedBy)
		}
	}
	for i, sentinel := range s.sentinels {
		if sentinel.up && sentinel.registered && sentinel.inFlight > 0 {
			return fmt.Errorf("changes the primary while Sentinel %d does", i)
		}
	}
	return nil
}

// checkNobodyElseIsAway: never two pods that the controller took away. A roll that takes too long is paused, and lets nodes be removed.
func (s *simulation) checkNobodyElseIsAway(index int, replaces bool) error {
	if s.now.Sub(s.memory.RollingSince) >= v1alpha1.DefaultSyncTimeout && !s.memory.RollingSince.IsZero() {
		return nil
	}
	for _, n := range s.sorted() {
		if leader := s.nodes[n.server.of]; n.server.running && !n.server.waiting && (!leader.live() || !leader.server.primary) {
			continue // it is back, and it is not the controller's doing that there is nobody to follow
		}
		if subject := s.nodes[index]; n.forgotten && subject != nil && (!replaces || !subject.server.linked && !subject.server.primary) {
			continue // a controller that has restarted cannot tell which of several that are down it took away itself
		}
		if n.index != index && n.index < wantedNodes(s.valkey) && n.replaced {
			return fmt.Errorf("takes node %d away while node %d, which was replaced, is not back", index, n.index)
		}
	}
	if len(s.leaving) > 0 {
		return fmt.Errorf("takes node %d away while a removed pod is still going", index)
	}
	return nil
}

// checkNotTheLast: the last complete copy is neither deleted nor emptied.
func (s *simulation) checkNotTheLast(n *simNode, keeps bool) error {
	if n == nil || !n.server.running || n.server.value == 0 || keeps {
		return nil
	}
	if s.valkey.Annotations[v1alpha1.AnnotationApprovePrimaryRoll] == n.object.Status.PendingRevision {
		return nil
	}
	for _, other := range s.sorted() {
		complete := other.live() && !other.hidden && other.server.syncLeft == 0 && other.server.value > 0
		if other.index != n.index && complete && (!n.server.primary || other.server.holds(n.server.data)) {
			return nil
		}
	}
	return fmt.Errorf("takes node %d away, which holds the last copy", n.index)
}

// checkFollow: nothing is made to follow an empty node, or one that is no primary, while it holds data.
func (s *simulation) checkFollow(n, primary *simNode) error {
	switch {
	case n == nil || primary == nil:
		return fmt.Errorf("follow names a node that is not there")
	case !primary.server.running || !primary.server.primary:
		return fmt.Errorf("makes node %d follow node %d, which is not primary", n.index, primary.index)
	case n.server.value > 0 && primary.server.value == 0 && !primary.server.holds(n.server.data):
		return fmt.Errorf("makes node %d follow node %d, which is empty", n.index, primary.index)
	}
	return nil
}

// checkTold: Sentinels are told of a node that is primary already, and that the one that they name follows.
func (s *simulation) checkTold(named, primary *simNode) error {
	if !primary.live() || !primary.server.primary || named.server.primary || named.server.of != primary.index {
		return fmt.Errorf("tells the Sentinels of node %d, which is not the primary of node %d", primary.index, named.index)
	}
	return nil
}

// checkPromote: the best reachable copy, and never an empty one while somebody who answers holds data.
func (s *simulation) checkPromote(n *simNode) error {
	if s.valkey.Spec.Failover.Mode != v1alpha1.FailoverModeOperator {
		return fmt.Errorf("promotes in mode %s", s.valkey.Spec.Failover.Mode)
	}
	for _, other := range s.sorted() {
		if other.index == n.index || !other.live() || other.hidden || other.server.syncLeft > 0 {
			continue
		}
		switch {
		case n.server.value == 0 && other.server.value > 0:
			return fmt.Errorf("promotes node %d, which is empty, while node %d holds data", n.index, other.index)
		case !other.server.primary && other.server.offset > n.server.offset && other.server.holds(n.server.data):
			return fmt.Errorf("promotes node %d, although node %d is further", n.index, other.index)
		}
	}
	return nil
}

// events are what goes wrong, and what people change, in a step.
func (s *simulation) events() {
	for _, n := range s.sorted() {
		switch {
		case s.chance(1) && s.expendable(n):
			s.tell("server %d dies", n.index)
			n.server, n.podLeft = server{}, 1+s.random.IntN(3)
		case s.chance(1) && s.expendable(n):
			s.tell("pod %d is deleted", n.index)
			s.stopPod(n)
		case s.chance(0.2) && s.copies(n) > 0:
			s.tell("volume and pod of %d are lost", n.index)
			delete(s.volumes, n.index)
			s.stopPod(n)
		case s.chance(0.7):
			n.cut = !n.cut
			s.tell("cut %d: %v", n.index, n.cut)
		case s.chance(0.7):
			n.hidden = !n.hidden
			s.tell("hidden %d: %v", n.index, n.hidden)
		case (n.cut || n.hidden) && s.chance(15):
			n.cut, n.hidden = false, false
			s.tell("heal %d", n.index)
		}
	}
	for i := range s.sentinels {
		if s.chance(1) {
			s.sentinels[i] = sentinel{up: !s.sentinels[i].up}
		}
	}
	switch {
	case s.chance(1.5):
		s.respec(func(spec *v1alpha1.ValkeySpec) { spec.Image = s.id("image") })
	case s.chance(0.5):
		s.respec(func(spec *v1alpha1.ValkeySpec) { spec.Image = badImage })
	case s.valkey.Spec.Image == badImage && s.chance(10):
		s.respec(func(spec *v1alpha1.ValkeySpec) { spec.Image = s.id("image") })
	case s.chance(1):
		s.respec(func(spec *v1alpha1.ValkeySpec) { spec.Replicas = int32(s.random.IntN(5)) })
	case s.chance(0.3):
		s.respec(func(spec *v1alpha1.ValkeySpec) {
			spec.Failover = v1alpha1.FailoverSpec{Mode: []v1alpha1.FailoverMode{
				v1alpha1.FailoverModeNone, v1alpha1.FailoverModeOperator, v1alpha1.FailoverModeSentinel}[s.random.IntN(3)]}
		})
	case s.chance(1):
		s.restart()
	case s.chance(1.5):
		s.askFailover()
	}
	s.person()
}

// restart makes the controller forget.
func (s *simulation) restart() {
	s.memory = Memory{}
	for _, n := range s.nodes {
		n.forgotten = n.replaced
	}
	s.tell("the controller restarts")
}

func (s *simulation) respec(change func(*v1alpha1.ValkeySpec)) {
	valkey := s.valkey.DeepCopy()
	change(&valkey.Spec)
	v1alpha1.SetObjectDefaults_Valkey(valkey)
	valkey.Generation++
	s.valkey = valkey
	s.tell("spec: image %s, replicas %d, mode %s", valkey.Spec.Image, valkey.Spec.Replicas, valkey.Spec.Failover.Mode)
}

// copies counts the other nodes that run and hold all that this one does.
func (s *simulation) copies(n *simNode) int {
	count := 0
	for _, other := range s.sorted() {
		if other.index != n.index && other.index < wantedNodes(s.valkey) && other.live() && other.server.syncLeft == 0 && other.server.value > 0 &&
			(other.server.holds(n.server.data) || other.server.primary) {
			count++
		}
	}
	return count
}

// expendable tells whether the world may take the server away without destroying the last copy itself.
func (s *simulation) expendable(n *simNode) bool {
	return s.persistent() || n.server.value == 0 || s.copies(n) > 0
}

// askFailover is a person's failover through the API, which claims and carries out by itself, or dies.
func (s *simulation) askFailover() {
	if o := s.valkey.Status.Operation; o != nil && o.Phase == v1alpha1.OperationInProgress && s.now.Before(o.ExpiresAt.Time) {
		return
	}
	from := s.valkey.Status.Primary
	for _, n := range s.sorted() {
		if n.live() && !n.server.primary && n.server.linked && from != "" && naming.NodeName("v", n.server.of) == from {
			s.valkey.Status.Operation = &v1alpha1.OperationStatus{
				Type: v1alpha1.OperationFailover, UID: s.id("operation"), RequestedBy: "somebody", From: from, To: naming.NodeName("v", n.index),
				StartedAt: metav1.NewTime(s.now), ExpiresAt: metav1.NewTime(s.now.Add(20 * time.Second)), Phase: v1alpha1.OperationInProgress,
			}
			s.userLeft, s.userDies = 1+s.random.IntN(3), s.chance(20)
			s.tell("somebody asks for a failover to %d, dies=%v", n.index, s.userDies)
			return
		}
	}
}

// person does what only a person may: promote in mode None, approve the loss of a copy in memory, put right what the Sentinels cannot.
func (s *simulation) person() {
	if !s.calm {
		return
	}
	var best *simNode
	primary := false
	for _, n := range s.sorted() {
		primary = primary || n.live() && n.server.primary
		if n.live() && n.server.syncLeft == 0 && (best == nil || n.server.value > best.server.value) {
			best = n
		}
	}
	mode := s.valkey.Spec.Failover.Mode
	if !primary && best != nil && (mode == v1alpha1.FailoverModeNone || mode == v1alpha1.FailoverModeSentinel && !s.wasMonitored) && s.chance(5) {
		s.tell("a person promotes %d", best.index)
		s.turn(best)
	}
	if len(s.nodes) == 1 && s.nodes[0] != nil && s.nodes[0].object.Status.PendingRevision != "" && !s.persistent() {
		s.written = false
		s.valkey.Annotations = map[string]string{v1alpha1.AnnotationApprovePrimaryRoll: s.nodes[0].object.Status.PendingRevision}
	}
}
