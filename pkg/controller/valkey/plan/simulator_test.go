// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"errors"
	"fmt"
	"os"
	"reflect"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	discoveryv1ac "k8s.io/client-go/applyconfigurations/discovery/v1"

	"github.com/valkeykube/valkeykube/pkg/apis/valkey/v1alpha1"
	"github.com/valkeykube/valkeykube/pkg/boot"
	"github.com/valkeykube/valkeykube/pkg/desired"
	valkeyv1alpha1ac "github.com/valkeykube/valkeykube/pkg/generated/applyconfiguration/valkey/v1alpha1"
	"github.com/valkeykube/valkeykube/pkg/naming"
)

const (
	// simulatorSteps is how many steps the simulator makes unless VALKEYKUBE_SIMULATOR_STEPS says otherwise.
	simulatorSteps = 100_000
	stormSteps     = 150
	calmSteps      = 500
	firstSeed      = 1
)

// TestSimulator lets the plan steer a model through random failures and changes of the spec, checks each disruptive action against what the
// model knows, and after each storm that everything comes to rest with the data still there. VALKEYKUBE_SIMULATOR_SEED repeats one storm.
func TestSimulator(t *testing.T) {
	steps := number("VALKEYKUBE_SIMULATOR_STEPS", simulatorSteps)
	if seed := number("VALKEYKUBE_SIMULATOR_SEED", 0); seed > 0 {
		run := newSimulation(uint64(seed))
		run.log = true
		if err := run.storm(); err != nil {
			t.Fatalf("seed %d, step %d: %v\n%s", seed, run.steps, err, strings.Join(run.story, "\n"))
		}
		return
	}
	// The collector would take a third of the time: a storm's rubbish is small.
	defer debug.SetGCPercent(debug.SetGCPercent(800))
	var made, seeds atomic.Int64
	var workers sync.WaitGroup
	actions := sync.Map{}
	for range runtime.GOMAXPROCS(0) {
		workers.Go(func() {
			for made.Load() < int64(steps) && !t.Failed() {
				seed := firstSeed + seeds.Add(1)
				run := newSimulation(uint64(seed))
				if err := run.storm(); err != nil {
					t.Errorf("seed %d, step %d: %v\n(repeat with VALKEYKUBE_SIMULATOR_SEED=%d)", seed, run.steps, err, seed)
				}
				made.Add(int64(run.steps))
				for kind, count := range run.done {
					counter, _ := actions.LoadOrStore(kind, &atomic.Int64{})
					counter.(*atomic.Int64).Add(int64(count))
				}
			}
		})
	}
	workers.Wait()
	for _, kind := range []string{"plan.HandOver", "plan.Promote", "plan.Replace", "plan.RemoveNode", "plan.Follow"} {
		counter, happened := actions.Load(kind)
		if !happened {
			t.Errorf("%s never happened: the simulator does not reach what it is to check", kind)
			continue
		}
		t.Logf("%s: %d", kind, counter.(*atomic.Int64).Load())
	}
	t.Logf("%d steps in %d storms", made.Load(), seeds.Load())
}

func number(variable string, otherwise int) int {
	if n, err := strconv.Atoi(os.Getenv(variable)); err == nil {
		return n
	}
	return otherwise
}

type simulation struct {
	*world
	steps int
	done  map[string]int
	log   bool
	story []string
	last  string
	// applied is the last configuration of each child that was applied.
	applied map[string]kruntime.ApplyConfiguration
	slice   *discoveryv1.EndpointSlice
	config  *corev1.ConfigMap
	// written: data were acknowledged once.
	written bool
	calm    bool
}

func newSimulation(seed uint64) *simulation {
	return &simulation{world: newWorld(seed), done: map[string]int{}, applied: map[string]kruntime.ApplyConfiguration{}}
}

func (s *simulation) tell(format string, args ...any) {
	if s.log {
		s.story = append(s.story, fmt.Sprintf("%4d ", s.steps)+fmt.Sprintf(format, args...))
	}
}

// storm is a while of failures and changes, and then rest.
func (s *simulation) storm() error {
	for range stormSteps {
		s.events()
		if err := s.step(); err != nil {
			return err
		}
	}
	s.calmDown()
	quiet := 0
	for range calmSteps {
		before := s.valkey.Status.DeepCopy()
		s.person()
		actionsBefore := s.total()
		if err := s.step(); err != nil {
			return err
		}
		if s.total() == actionsBefore && apiequality.Semantic.DeepEqual(*before, s.valkey.Status) && s.atRest() == nil {
			if quiet++; quiet == 5 {
				return s.verdictOfRest()
			}
			continue
		}
		quiet = 0
	}
	return fmt.Errorf("no rest after %d calm steps: %w; plan: %s", calmSteps, s.atRest(), s.planned(false))
}

func (s *simulation) total() int {
	sum := 0
	for _, n := range s.done {
		sum += n
	}
	return sum
}

func (s *simulation) calmDown() {
	s.tell("calm")
	s.calm = true
	for _, n := range s.nodes {
		n.cut, n.hidden = false, false
	}
	for i := range s.sentinels {
		s.sentinels[i].up = true
	}
	if s.valkey.Spec.Image == badImage {
		s.respec(func(spec *v1alpha1.ValkeySpec) { spec.Image = s.id("image") })
	}
}

// atRest tells what is still not as wanted.
func (s *simulation) atRest() error {
	primaries := 0
	if len(s.nodes) != wantedNodes(s.valkey) {
		return fmt.Errorf("%d nodes, %d wanted", len(s.nodes), wantedNodes(s.valkey))
	}
	for _, n := range s.sorted() {
		switch {
		case !n.live() || n.pod == nil:
			return fmt.Errorf("node %d is down", n.index)
		case n.server.primary:
			primaries++
		case !n.server.linked || !s.nodes[n.server.of].server.primary:
			return fmt.Errorf("node %d is not in sync", n.index)
		}
		if revision(n.object.Spec) != n.object.Status.WorkloadRevision || n.object.Spec.Image != s.valkey.Spec.Image {
			return fmt.Errorf("node %d is not rolled", n.index)
		}
	}
	if primaries != 1 {
		return fmt.Errorf("%d primaries", primaries)
	}
	if n := s.routed(); n == nil || !n.server.primary {
		return errors.New("the primary's Service does not lead to the primary")
	}
	if s.memory.Left != "" {
		return fmt.Errorf("clients may have stayed with %s", s.memory.Left)
	}
	return nil
}

// verdictOfRest is what must hold when nothing moves any more.
func (s *simulation) verdictOfRest() error {
	for _, n := range s.sorted() {
		if n.server.primary && s.written && !s.sentinelsLost && n.server.value == 0 {
			return errors.New("the data are gone")
		}
	}
	status := s.valkey.Status
	if status.State != v1alpha1.StateReady {
		return fmt.Errorf("state %s (%s: %s) at rest", status.State, status.Reason, status.Message)
	}
	o := s.observed(false)
	o.Now = o.Now.Add(time.Hour)
	p := compute(o, simulatedSteps(), s.same)
	if len(p.Actions)+len(p.Blocked) > 0 || !p.Quiet {
		return fmt.Errorf("plans something at rest: %s", p)
	}
	return nil
}

// simulatedSteps leaves out what makes only objects that nothing here depends on.
func simulatedSteps() []step {
	var some []step
	for _, s := range steps() {
		switch s.name {
		case "warnings", "passwords", "acl", "access", "services", "budget", "networkPolicy":
		default:
			some = append(some, s)
		}
	}
	return some
}

// same compares with what was applied last.
func (s *simulation) same(live kruntime.Object, want kruntime.ApplyConfiguration) (bool, error) {
	return reflect.DeepEqual(s.applied[fmt.Sprintf("%T", live)], want), nil
}

func (s *simulation) observed(stale bool) Observed {
	o := s.look(stale)
	if s.slice != nil {
		o.Objects.Endpoints = s.slice
	}
	o.Objects.Config = s.config
	return o
}

func (s *simulation) planned(stale bool) Plan {
	return compute(s.observed(stale), simulatedSteps(), s.same)
}

// step lets a second pass, and the controller make a pass.
func (s *simulation) step() error {
	s.steps++
	s.advance()
	if err := s.checkFences(); err != nil {
		return err
	}
	stale := !s.calm && s.chance(20)
	o := s.observed(stale)
	p := compute(o, simulatedSteps(), s.same)
	if s.log {
		if line := fmt.Sprintf("%s\n       %s", s.picture(), p); line != s.last {
			s.tell("%s", line)
			s.last = line
		}
	}
	if err := s.check(p); err != nil {
		return fmt.Errorf("%w; plan: %s", err, p)
	}
	outcomes, crashed := s.act(p)
	for _, n := range s.nodes {
		s.written = s.written || n.server.value > 0
	}
	if crashed {
		s.restart()
		return nil
	}
	s.memory = Remember(o, p, outcomes)
	status := Status(o, p, outcomes)
	s.valkey.Status = status
	return nil
}

// picture is the world in a line.
func (s *simulation) picture() string {
	var text strings.Builder
	fmt.Fprintf(&text, "%s hint=%d", s.valkey.Spec.Failover.Mode, s.hint)
	for _, n := range s.sorted() {
		v := n.server
		what := "down"
		switch {
		case v.waiting:
			what = "waiting"
		case v.running && v.primary:
			what = "primary"
		case v.running:
			what = fmt.Sprintf("of %d linked=%v sync=%d", v.of, v.linked, v.syncLeft)
		}
		fmt.Fprintf(&text, " [%d %s v=%d o=%d %s/%s cut=%v hidden=%v replaced=%v]", n.index, what, v.value, v.offset, v.history, v.older, n.cut, n.hidden, n.replaced)
	}
	if s.valkey.Spec.Failover.Mode == v1alpha1.FailoverModeSentinel {
		for _, v := range s.sentinels {
			fmt.Fprintf(&text, " (up=%v reg=%v %d@%d f=%d)", v.up, v.registered, v.names, v.epoch, v.inFlight)
		}
	}
	return text.String()
}

// act carries out a plan in the model. Some actions fail, and sometimes the controller dies in the middle of one.
func (s *simulation) act(p Plan) (outcomes []Outcome, crashed bool) {
	broken := false
	for _, action := range p.Actions {
		if broken && action.Tier() > TierSafe {
			continue
		}
		outcome := Outcome{Action: action}
		if !s.calm && s.chance(5) {
			outcome.Err, broken = errors.New("refused"), true
			outcomes = append(outcomes, outcome)
			continue
		}
		s.done[fmt.Sprintf("%T", action)]++
		switch a := action.(type) {
		case Apply:
			s.apply(a)
		case Follow:
			if n := s.nodes[s.index(a.Node)]; n.live() && !n.hidden {
				s.follow(n, s.index(a.Primary))
			}
		case Replace:
			outcome.Skipped = !s.replace(a)
		case RemoveNode:
			s.remove(s.index(a.Node))
		case Promote, HandOver:
			if crashed = s.changePrimary(action, &outcome); crashed {
				return outcomes, true
			}
		}
		outcomes = append(outcomes, outcome)
	}
	return outcomes, !s.calm && s.chance(1)
}

func (s *simulation) apply(a Apply) {
	switch config := a.Config.(type) {
	case *valkeyv1alpha1ac.ValkeyNodeApplyConfiguration:
		index := s.index(a.Name)
		if s.nodes[index] == nil {
			object := &v1alpha1.ValkeyNode{ObjectMeta: metav1.ObjectMeta{
				Name: a.Name, Namespace: "ns", UID: types.UID(s.id("node")), Labels: naming.NodeLabels("v", a.Name), OwnerReferences: s.owners()}}
			s.nodes[index] = &simNode{index: index, object: object, podLeft: 1 + s.random.IntN(2)}
		}
		s.respecNode(s.nodes[index], s.nodes[index].object.Spec.WorkloadRevision)
	case *discoveryv1ac.EndpointSliceApplyConfiguration:
		s.endpoints = ""
		s.slice = &discoveryv1.EndpointSlice{ObjectMeta: metav1.ObjectMeta{Name: a.Name, OwnerReferences: s.owners()}, AddressType: *config.AddressType}
		for _, endpoint := range config.Endpoints {
			s.endpoints = string(*endpoint.TargetRef.UID)
			s.slice.Endpoints = append(s.slice.Endpoints, discoveryv1.Endpoint{TargetRef: &corev1.ObjectReference{UID: *endpoint.TargetRef.UID}})
		}
		s.applied["*v1.EndpointSlice"] = a.Config
	case *corev1ac.ConfigMapApplyConfiguration:
		settings, err := boot.Decode[boot.Node]([]byte(config.Data[naming.KeyBoot]))
		if err != nil {
			panic(err)
		}
		s.hint = -1
		if settings.Primary != "" {
			s.hint = s.index(settings.Primary)
		}
		s.config = &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: a.Name, OwnerReferences: s.owners()}, Data: config.Data}
		s.applied["*v1.ConfigMap"] = a.Config
	case *corev1ac.PodApplyConfiguration:
		for _, n := range s.nodes {
			if n.pod != nil && n.pod.UID == *config.UID {
				pod := n.pod.DeepCopy()
				pod.Labels[naming.LabelRole] = config.Labels[naming.LabelRole]
				n.pod = pod
			}
		}
	}
}

func (s *simulation) owners() []metav1.OwnerReference {
	isController := true
	return []metav1.OwnerReference{{APIVersion: "valkey.io/v1alpha1", Kind: "Valkey", Name: "v", UID: s.valkey.UID, Controller: &isController}}
}

func (s *simulation) respecNode(n *simNode, workloadRevision string) {
	object := n.object.DeepCopy()
	object.Spec = desired.ValkeyNodeSpec(s.valkey, workloadRevision)
	v1alpha1.SetObjectDefaults_ValkeyNode(object)
	object.Generation++
	n.object = object
}

func (s *simulation) replace(a Replace) bool {
	n := s.nodes[s.index(a.Node)]
	if n == nil || a.IdlePod != "" && n.server.running {
		return false
	}
	s.respecNode(n, a.Revision)
	if revision(n.object.Spec) == a.Revision && (n.server.running || n.replaced) {
		n.replaced, n.awaited, n.forgotten = true, a.Revision, n.forgotten && !n.server.running
	}
	return true
}

func (s *simulation) remove(index int) {
	n := s.nodes[index]
	if n == nil {
		return
	}
	if n.pod != nil {
		s.leaving = append(s.leaving, n.pod)
	}
	delete(s.nodes, index)
}

// changePrimary promotes or hands over, under a claim. It tells whether the controller died on the way.
func (s *simulation) changePrimary(action Action, outcome *Outcome) (crashed bool) {
	from, to, cause, _ := change(Outcome{Action: action})
	claim := &v1alpha1.OperationStatus{
		Type: v1alpha1.OperationFailover, UID: s.id("operation"), RequestedBy: Requester(cause), From: from, To: to,
		StartedAt: metav1.NewTime(s.now), ExpiresAt: metav1.NewTime(s.now.Add(40 * time.Second)), Phase: v1alpha1.OperationInProgress,
	}
	crashed = !s.calm && s.chance(10)
	done := false
	if !crashed || s.chance(50) {
		if promote, promotes := action.(Promote); promotes && promote.Monitor != "" {
			done = s.tellSentinel(s.index(to))
		} else if promotes {
			if n := s.nodes[s.index(to)]; n.live() && !n.hidden {
				s.turn(n)
				done = true
			}
		} else {
			done = s.handOver(s.index(from), s.index(to))
		}
	}
	if crashed {
		if n := s.nodes[s.index(from)]; n.live() && !done {
			n.paused = 1 + s.random.IntN(10)
		}
		s.tell("the controller dies in the middle of a change, done=%v", done)
		s.valkey.Status.Operation = claim
		return true
	}
	outcome.Operation = claim
	claim.Phase = v1alpha1.OperationSucceeded
	if !done {
		claim.Phase, outcome.Err = v1alpha1.OperationFailed, errors.New("could not")
	}
	return false
}
