// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"fmt"
	"maps"
	"math/rand"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/valkeykube/valkeykube/pkg/apis/valkey/v1alpha1"
	"github.com/valkeykube/valkeykube/pkg/naming"
	"github.com/valkeykube/valkeykube/pkg/topology"
)

// wantRegistered demands that every Sentinel holds exactly these monitors, each at its real primary.
func (w *world) wantRegistered(names ...string) {
	w.t.Helper()
	if len(w.sentinels) != int(w.set.Spec.Replicas) {
		w.t.Errorf("%d Sentinels, want %d", len(w.sentinels), w.set.Spec.Replicas)
	}
	for i, sentinel := range w.sentinels {
		if len(sentinel.monitors) != len(names) {
			w.t.Errorf("Sentinel %d holds %d monitors, want %v", i, len(sentinel.monitors), names)
		}
		for _, name := range names {
			m, ok := sentinel.monitors[name]
			if !ok {
				w.t.Errorf("Sentinel %d does not hold %s", i, name)
				continue
			}
			valkey := w.valkeyOf(name)
			if m.primary != valkey.primary().address || m.password != valkey.password {
				w.t.Errorf("Sentinel %d holds %s at %s, want %s; password right: %v", i, name, m.primary, valkey.primary().address, m.password == valkey.password)
			}
			if len(m.peers) != len(w.sentinels)-1 || len(m.replicas) != len(valkey.nodes)-1 {
				w.t.Errorf("Sentinel %d counts %d peers and %d replicas for %s", i, len(m.peers), len(m.replicas), name)
			}
		}
	}
}

// wantIdle demands that nothing at all is written while nothing happens.
func (w *world) wantIdle() {
	w.t.Helper()
	before, status := w.writes, fmt.Sprint(w.set.Status)
	for range 20 {
		w.tick()
		w.pass()
	}
	if w.writes != before {
		w.t.Errorf("%d writes while nothing happened; last plan:\n%s", w.writes-before, w.last)
	}
	if now := fmt.Sprint(w.set.Status); now != status {
		w.t.Errorf("status moved while nothing happened:\n%s\n%s", status, now)
	}
}

func (w *world) wantCondition(kind string, want string) {
	w.t.Helper()
	condition := meta.FindStatusCondition(w.set.Status.Conditions, kind)
	if condition == nil || string(condition.Status) != want {
		w.t.Errorf("condition %s is %+v, want %s", kind, condition, want)
	}
}

func TestASetComesUpRegistersAndRests(t *testing.T) {
	w := newWorld(t, "a", "b")
	w.settle()
	w.wantRegistered("a", "b")
	w.wantCondition(v1alpha1.ConditionReady, "True")
	w.wantCondition(v1alpha1.ConditionDegraded, "False")
	w.wantCondition(v1alpha1.ConditionQuorumHealthy, "True")
	if w.set.Status.State != v1alpha1.StateReady || w.set.Status.ReadyReplicas != 3 || len(w.set.Status.Monitors) != 2 || w.set.Status.Monitors[0].RegisteredOn != 3 {
		t.Errorf("status is %+v", w.set.Status)
	}
	w.wantIdle()
}

func TestAnotherControllerWritesNothing(t *testing.T) {
	w := newWorld(t, "a")
	w.settle()
	w.now = w.now.Add(mountLag)
	w.memory = Memory{}
	w.wantIdle()
}

func TestNothingIsRegisteredBeforeThereIsAPrimary(t *testing.T) {
	w := newWorld(t, "a")
	for _, node := range w.valkeys["a"].nodes {
		node.up = false
	}
	for range 20 {
		w.pass()
		w.tick()
	}
	for i, sentinel := range w.sentinels {
		if len(sentinel.monitors) != 0 {
			t.Errorf("Sentinel %d monitors something", i)
		}
	}
	if noted := w.observe().Noted.Monitors; len(noted) != 0 {
		t.Errorf("boot settings name %+v", noted)
	}
	if w.set.Status.Reason != v1alpha1.ReasonWaitingForPrimary {
		t.Errorf("status is %s: %s", w.set.Status.Reason, w.set.Status.Message)
	}
	w.valkeys["a"].nodes[0].up = true
	for range 10 {
		w.pass()
		w.tick()
	}
	if _, ok := w.sentinels[0].monitors["a"]; !ok {
		t.Error("not registered although the primary is up")
	}
	w.valkeys["a"].nodes[1].up, w.valkeys["a"].nodes[2].up = true, true
	w.settle()
	w.wantRegistered("a")
}

// A Sentinel learns the replicas when it begins to monitor, and then every ten seconds: until it knows them it cannot fail over.
func TestANewSetIsRegisteredWhenItsReplicasHaveConnected(t *testing.T) {
	for name, connect := range map[string]bool{"they connect": true, "one never does": false} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, "a")
			valkey := w.valkeys["a"]
			valkey.nodes[0].upSince, valkey.nodes[2].up = w.now, false
			for range 5 {
				w.pass()
				w.tick()
			}
			w.pass()
			if len(w.sentinels[0].monitors) != 0 || w.last.Blocked[0].Reason != v1alpha1.ReasonWaitingForReplicas {
				t.Fatalf("registered, or for another reason not: %+v", w.last.Blocked)
			}
			valkey.nodes[2].up = connect
			if connect {
				w.pass()
				w.settle()
				w.wantRegistered("a")
				return
			}
			for range 25 {
				w.tick()
				w.pass()
			}
			if _, ok := w.sentinels[0].monitors["a"]; !ok {
				t.Error("one replica that is away keeps the others from being monitored")
			}
		})
	}
}

// A Sentinel that could not resolve the new primary's name took over the epoch of the failover and not the address. To it, what its peers
// say from then on is no news.
func TestASentinelThatMissedTheAddressIsMoved(t *testing.T) {
	for name, oldIsUp := range map[string]bool{"the old primary is a replica": true, "the old primary is gone": false} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, "a")
			w.settle()
			w.failOver("a", 1, 2)
			w.sentinels[2].monitors["a"].epoch = w.sentinels[0].monitors["a"].epoch
			w.valkeys["a"].nodes[0].up = oldIsUp
			w.pass()
			if w.sentinels[2].monitors["a"].primary != w.valkeys["a"].nodes[0].address {
				t.Error("it was given no time to learn by itself")
			}
			for range 15 {
				w.now = w.now.Add(time.Second)
				w.pass()
			}
			if m := w.sentinels[2].monitors["a"]; m.primary != w.valkeys["a"].nodes[1].address {
				t.Errorf("it is still at %s; last plan:\n%s", m.primary, w.last)
			}
		})
	}
}

func TestASentinelThatComesBackEmptyIsToldEverything(t *testing.T) {
	w := newWorld(t, "a", "b")
	w.settle()
	w.sentinels[1].run, w.sentinels[1].monitors = "empty", map[string]*modelMonitor{}
	w.settle()
	w.wantRegistered("a", "b")
	w.wantIdle()
}

func TestAValkeyThatIsNoLongerSelectedIsRemovedEverywhere(t *testing.T) {
	w := newWorld(t, "a", "b")
	w.settle()
	w.valkeys["a"].selected = false
	w.sentinels[2].silent = true
	for range 5 {
		w.pass()
		w.tick()
	}
	if _, ok := w.sentinels[0].monitors["a"]; ok {
		t.Error("a silent Sentinel delayed the others")
	}
	w.sentinels[2].silent = false
	w.settle()
	w.wantRegistered("b")
}

func TestADeletedValkeyIsRemovedAlsoWhereOnlyItsAddressIsKnown(t *testing.T) {
	w := newWorld(t, "a", "b")
	w.settle()
	address := w.valkeys["a"].nodes[0].address
	delete(w.valkeys, "a")
	w.settle()
	// A Sentinel that slept through it still holds the monitor, and the boot settings no longer tell.
	w.sentinels[0].monitors["a"] = newModelMonitor(address, 2, "", nil)
	w.settle()
	w.wantRegistered("b")
}

func TestAForeignMonitorIsReportedAndLeftAlone(t *testing.T) {
	w := newWorld(t, "a")
	w.settle()
	w.sentinels[0].monitors["other"] = newModelMonitor(topology.Address{Host: "db.example.org", Port: 6379}, 2, "", nil)
	for range 5 {
		w.pass()
		w.tick()
	}
	if _, ok := w.sentinels[0].monitors["other"]; !ok {
		t.Error("a foreign monitor was removed")
	}
	w.wantCondition(v1alpha1.ConditionMonitorConflict, "True")
	w.wantIdle()
}

func TestAMonitorAtAReplicaIsMovedToThePrimary(t *testing.T) {
	for name, where := range map[string][]int{"on one Sentinel": {1}, "on all Sentinels": {0, 1, 2}} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, "a")
			w.settle()
			for _, i := range where {
				w.sentinels[i].monitors["a"].primary = w.valkeys["a"].nodes[2].address
			}
			w.settle()
			w.wantRegistered("a")
			w.wantIdle()
		})
	}
}

func TestADecisionOfTheSentinelsIsNotOverruled(t *testing.T) {
	w := newWorld(t, "a")
	w.settle()
	w.failOver("a", 1)
	w.settle()
	// Somebody has promoted another node by hand behind their backs, and the node they hold follows it.
	valkey := w.valkeys["a"]
	valkey.nodes[1].primary, valkey.nodes[2].primary = false, true
	valkey.attach()
	w.pass()
	for i, sentinel := range w.sentinels {
		if sentinel.monitors["a"].primary != valkey.nodes[1].address {
			t.Errorf("Sentinel %d was moved", i)
		}
	}
	w.wantCondition(v1alpha1.ConditionDegraded, "True")
	if !strings.Contains(w.last.Blocked[0].Message, "have decided on another address") {
		t.Errorf("blocked: %+v", w.last.Blocked)
	}
}

// One that does not let the controller in is no silent one: its pod runs, and people have to look at passwords.
func TestASentinelThatRefusesTheLoginIsNamedAsSuch(t *testing.T) {
	w := newWorld(t, "a")
	w.settle()
	w.sentinels[1].locked = true
	w.pass()
	w.wantCondition(v1alpha1.ConditionDegraded, "True")
	degraded := meta.FindStatusCondition(w.set.Status.Conditions, v1alpha1.ConditionDegraded)
	if degraded.Reason != v1alpha1.ReasonAuthFailed || !strings.Contains(degraded.Message, "Sentinel 1 refuses the controller's login") {
		t.Errorf("%+v", degraded)
	}
}

func TestASentinelThatLagsIsLeftToItsPeers(t *testing.T) {
	w := newWorld(t, "a")
	w.settle()
	w.failOver("a", 1, 2)
	before := w.writes
	done := w.pass()
	for _, action := range done.Actions {
		if _, ok := SentinelOf(action); ok {
			t.Errorf("unexpected %s", action)
		}
	}
	w.tick()
	w.settle()
	w.wantRegistered("a")
	if w.writes-before != 1 {
		t.Errorf("%d writes, want that of the boot settings only", w.writes-before)
	}
}

func TestNothingIsWrittenDuringAFailover(t *testing.T) {
	w := newWorld(t, "a", "b")
	w.settle()
	w.sentinels[0].monitors["a"].failover = true
	w.sentinels[1].run, w.sentinels[1].monitors = "empty", map[string]*modelMonitor{}
	w.valkeys["b"].selected = false
	w.set.Spec.Image = "another:1"
	w.valkeys["a"].object.Spec.Failover.Sentinel = &v1alpha1.SentinelFailoverSpec{Config: map[string]string{"down-after-milliseconds": "1000"}}
	for range 20 {
		w.pass() // checkPlan looks for writes to a
		w.tick()
	}
	if len(w.pods) != 3 || w.last.rolling != 3 {
		t.Errorf("a pod was replaced during a failover: %d outdated", w.last.rolling)
	}
	w.sentinels[0].monitors["a"].failover = false
	w.settle()
	w.wantRegistered("a")
}

func TestAChangedPasswordAndSettingReachEverySentinel(t *testing.T) {
	w := newWorld(t, "a")
	w.settle()
	w.valkeys["a"].password = "another"
	w.valkeys["a"].object.Spec.Failover.Sentinel = &v1alpha1.SentinelFailoverSpec{Config: map[string]string{
		"down-after-milliseconds": "1000", "master-reboot-down-after-period": "500", "parallel-syncs": "0", "auth-pass": "x"}}
	w.settle()
	w.wantRegistered("a")
	for i, sentinel := range w.sentinels {
		settings := sentinel.monitors["a"].settings
		if settings["down-after-milliseconds"] != "1000" || settings["master-reboot-down-after-period"] != "500" {
			t.Errorf("Sentinel %d: settings %v", i, settings)
		}
	}
	warning := meta.FindStatusCondition(w.set.Status.Conditions, v1alpha1.ConditionConfigurationWarning)
	if warning == nil || !strings.Contains(warning.Message, "auth-pass") || !strings.Contains(warning.Message, "parallel-syncs 0 was refused: ERR") {
		t.Errorf("warning is %+v", warning)
	}
	w.wantIdle()
	w.valkeys["a"].object.Spec.Failover.Sentinel = nil
	w.settle()
	if got := w.sentinels[0].monitors["a"].settings["down-after-milliseconds"]; got != "30000" {
		t.Errorf("down-after-milliseconds is %s after it was taken out of the spec", got)
	}
}

func TestASentinelThatStartedWithOldBootSettingsGetsTheNewPassword(t *testing.T) {
	w := newWorld(t, "a")
	w.settle()
	// It looks well: the nodes let anybody in. But the password is an old one.
	w.startSentinel(1)
	w.sentinels[1].monitors["a"].password = "old"
	w.valkeys["a"].open = true
	w.settle()
	w.wantRegistered("a")
	w.wantIdle()
}

func TestCredentialsAreSetAgainWhereASentinelCannotLogIn(t *testing.T) {
	w := newWorld(t, "a")
	w.settle()
	w.memory = Memory{}
	w.sentinels[1].monitors["a"].password = "stale"
	w.settle()
	w.wantRegistered("a")
	w.wantIdle()
}

func TestARollReplacesOnePodAfterTheOther(t *testing.T) {
	w := newWorld(t, "a", "b")
	w.settle()
	w.set.Spec.Image = "another:1"
	w.settle()
	for name, pod := range w.pods {
		if pod.Annotations[naming.AnnotationRevision] != w.last.revision {
			t.Errorf("%s is outdated", name)
		}
	}
	w.wantRegistered("a", "b")
	w.wantIdle()
}

// The passwords are lost while the Sentinels run, which go on with those that they read at their start.
func TestSentinelsWithLostPasswordsAreReplacedOneAfterTheOther(t *testing.T) {
	w := newWorld(t, "a")
	w.settle()
	if err := w.kube.CoreV1().Secrets(testNamespace).Delete(t.Context(), naming.SentinelPasswordsSecret(testSet), metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	for _, sentinel := range w.sentinels {
		sentinel.locked = true
	}
	before := maps.Clone(w.pods)
	w.tick()
	w.settle()
	for name, pod := range before {
		if w.pods[name].UID == pod.UID {
			t.Errorf("%s was not replaced", name)
		}
	}
	w.wantRegistered("a")
	w.wantIdle()
}

func TestANewAgentImageReplacesNothing(t *testing.T) {
	w := newWorld(t, "a")
	w.settle()
	observed := w.observe()
	observed.Environment.AgentImage = "agent:2"
	done := Compute(observed)
	if len(done.Actions) != 1 || done.Actions[0].String() != "apply StatefulSet valkey-sentinel-s" || done.rolling != 0 {
		t.Errorf("plan:\n%s\n%d outdated", done, done.rolling)
	}
}

func TestScaling(t *testing.T) {
	w := newWorld(t, "a")
	w.settle()
	w.set.Spec.Replicas = 7
	w.settle()
	w.wantRegistered("a")
	if got := w.sentinels[0].monitors["a"].quorum; got != 4 {
		t.Errorf("quorum is %d of 7", got)
	}
	w.set.Spec.Replicas = 3
	w.settle()
	w.wantRegistered("a")
	if got := w.sentinels[0].monitors["a"].quorum; got != 2 {
		t.Errorf("quorum is %d of 3", got)
	}
	w.wantIdle()
}

func TestAReplicaThatWasScaledAwayIsForgotten(t *testing.T) {
	w := newWorld(t, "a")
	w.settle()
	valkey := w.valkeys["a"]
	valkey.nodes = valkey.nodes[:2]
	w.settle()
	w.wantRegistered("a")
	w.wantIdle()
}

func TestAReplicaThatIsAwayIsNotForgotten(t *testing.T) {
	w := newWorld(t, "a")
	w.settle()
	w.valkeys["a"].nodes[2].up = false
	w.wantIdle()
	w.wantRegistered("a")
}

func TestADeadSentinelHoldsARollAndNothingElse(t *testing.T) {
	w := newWorld(t, "a")
	w.settle()
	w.sentinels[0].silent = true
	w.set.Spec.Image = "another:1"
	w.addValkey("b", 2)
	for range 20 {
		w.pass()
		w.tick()
	}
	if w.last.rolling != 3 {
		t.Errorf("%d outdated pods, want 3", w.last.rolling)
	}
	if _, ok := w.sentinels[1].monitors["b"]; !ok {
		t.Error("the others were not told of a new Valkey")
	}
	w.wantCondition(v1alpha1.ConditionDegraded, "True")
	w.wantCondition(v1alpha1.ConditionQuorumHealthy, "True")
	w.sentinels[0].silent = false
	w.settle()
	w.wantRegistered("a", "b")
}

func TestWhateverHappensItSettles(t *testing.T) {
	for seed := range int64(8) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			random := rand.New(rand.NewSource(seed)) //nolint:gosec // a test that can be repeated
			w := newWorld(t, "a", "b")
			for range 60 {
				w.disturb(random)
				for range random.Intn(6) {
					w.pass()
					w.tick()
				}
			}
			w.calm()
			w.settle()
			w.wantRegistered("a", "b")
			w.wantIdle()
		})
	}
}

// disturb does one of the things that happen.
func (w *world) disturb(random *rand.Rand) {
	name := []string{"a", "b"}[random.Intn(2)]
	valkey := w.valkeys[name]
	index := random.Intn(3)
	sentinel, alive := w.sentinels[index]
	switch random.Intn(10) {
	case 0:
		valkey.selected = !valkey.selected
	case 1:
		w.set.Spec.Image = fmt.Sprint("image:", random.Intn(3))
	case 2:
		w.set.Spec.Replicas = int32(3 + 2*random.Intn(2))
	case 3:
		node := valkey.nodes[random.Intn(len(valkey.nodes))]
		node.up = !node.up
	case 4:
		valkey.password = fmt.Sprint("secret-", random.Intn(100), "-drawn")
	case 5:
		w.failOver(name, random.Intn(len(valkey.nodes)), random.Intn(3))
	case 6:
		if alive {
			w.startSentinel(index)
		}
	case 7:
		if alive {
			sentinel.silent = !sentinel.silent
		}
	case 8:
		if m, ok := w.anyMonitor(index, name); ok {
			m.failover = !m.failover
		}
	case 9:
		w.memory = Memory{}
		w.now = w.now.Add(time.Duration(random.Intn(100)) * time.Second)
	}
}

func (w *world) anyMonitor(index int, name string) (*modelMonitor, bool) {
	sentinel, ok := w.sentinels[index]
	if !ok {
		return nil, false
	}
	m, ok := sentinel.monitors[name]
	return m, ok
}

// calm ends every disturbance.
func (w *world) calm() {
	for _, valkey := range w.valkeys {
		valkey.selected = true
		for _, node := range valkey.nodes {
			node.up = true
		}
		valkey.attach()
	}
	for _, sentinel := range w.sentinels {
		sentinel.silent = false
		for _, m := range sentinel.monitors {
			m.failover = false
		}
	}
}
