// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package valkey

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/valkeykube/valkeykube/pkg/apis/valkey/v1alpha1"
	"github.com/valkeykube/valkeykube/pkg/naming"
	"github.com/valkeykube/valkeykube/pkg/valkeyclient"
)

func operatorMode(replicas int32) func(*v1alpha1.Valkey) {
	return func(valkey *v1alpha1.Valkey) {
		valkey.Spec.Replicas = replicas
		valkey.Spec.Failover.Mode = v1alpha1.FailoverModeOperator
		valkey.Spec.Failover.Operator = &v1alpha1.OperatorFailoverSpec{DownAfter: &metav1.Duration{Duration: time.Second}}
	}
}

// fill writes some keys to the node, and waits until the others have them.
func (l *lab) fill(primary string, replicas ...string) {
	l.t.Helper()
	// The operator's user may not write: set a key by the means of the test.
	if err := l.set(primary, "key", "value"); err != nil {
		l.t.Fatal(err)
	}
	l.until("the replicas have the data", func() error {
		for _, node := range replicas {
			status, err := l.processes[node].Node().Status(l.t.Context())
			if err != nil {
				return err
			}
			if status.Keys == 0 {
				return fmt.Errorf("%s is empty", node)
			}
		}
		return nil
	})
}

func (l *lab) wantServiceAt(node string) error {
	slice := &discoveryv1.EndpointSlice{}
	key := types.NamespacedName{Namespace: testNamespace, Name: naming.PrimaryEndpointSlice(testName)}
	if err := l.kube.Get(l.t.Context(), key, slice); err != nil {
		return err
	}
	pod := l.podOf(node)
	if pod == nil || len(slice.Endpoints) != 1 || slice.Endpoints[0].TargetRef.UID != pod.UID {
		return fmt.Errorf("the primary's Service leads to %+v", slice.Endpoints)
	}
	if ready := slice.Endpoints[0].Conditions.Ready; ready == nil || !*ready {
		return errors.New("its endpoint is not ready")
	}
	return nil
}

func (l *lab) wantLabel(node string, role v1alpha1.Role) error {
	if pod := l.podOf(node); pod == nil || pod.Labels[naming.LabelRole] != string(role) {
		return fmt.Errorf("pod of %s is not labelled %s", node, role)
	}
	return nil
}

func (l *lab) wantCondition(kind string, status metav1.ConditionStatus, reason string) error {
	condition := meta.FindStatusCondition(l.valkey().Status.Conditions, kind)
	if condition == nil || condition.Status != status || reason != "" && condition.Reason != reason {
		return fmt.Errorf("condition %s: %+v, want %s %s", kind, condition, status, reason)
	}
	return nil
}

func all(errs ...error) error { return errors.Join(errs...) }

func TestAnInstanceComesUpAndIsThenLeftAlone(t *testing.T) {
	l := newLab(t)
	l.makeValkey(operatorMode(2))
	l.untilReady()
	l.until("led to and labelled", func() error {
		return all(l.wantServiceAt("v-0"), l.wantLabel("v-0", v1alpha1.RolePrimary), l.wantLabel("v-1", v1alpha1.RoleReplica),
			l.wantCondition(v1alpha1.ConditionReplicationHealthy, metav1.ConditionTrue, ""),
			l.wantCondition(v1alpha1.ConditionPrimaryElected, metav1.ConditionTrue, ""))
	})
	budget := &policyv1.PodDisruptionBudget{}
	l.get(naming.ValkeyPDB(testName), budget)
	if budget.Spec.MinAvailable.IntValue() != 2 {
		t.Errorf("the budget lets more than one of three go: minAvailable %s", budget.Spec.MinAvailable)
	}
	l.pass()
	l.written()
	before := l.valkey().ResourceVersion
	for range 5 {
		if result := l.pass(); result.RequeueAfter < time.Second {
			t.Errorf("looks again in %s although nothing is amiss", result.RequeueAfter)
		}
	}
	if writes := l.written(); len(writes) > 0 || l.valkey().ResourceVersion != before {
		t.Errorf("wrote while nothing happened: %v", writes)
	}
	l.controller = l.newController()
	for range 3 {
		l.pass()
	}
	if writes := l.written(); len(writes) > 0 {
		t.Errorf("a controller that has just started wrote: %v", writes)
	}
}

func TestALostPrimaryIsReplacedByTheBestReplicaAndComesBackAsOne(t *testing.T) {
	l := newLab(t)
	l.makeValkey(operatorMode(2))
	l.untilReady()
	l.fill("v-0", "v-1", "v-2")
	l.processes["v-0"].Stop() // frozen: connections stay, nobody answers
	l.until("another primary", func() error {
		status := l.valkey().Status
		if status.Primary == "v-0" {
			return errors.New("still v-0")
		}
		other := map[string]string{"v-1": "v-2", "v-2": "v-1"}[status.Primary]
		return all(l.wantServiceAt(status.Primary), l.wantFollows(other, status.Primary))
	})
	status := l.valkey().Status
	if record := status.LastFailover; record == nil || record.From != "v-0" || record.To != status.Primary || record.Cause != v1alpha1.FailoverCauseOperator {
		t.Errorf("last failover: %+v", record)
	}
	l.processes["v-0"].Cont()
	l.until("the old primary follows", func() error { return all(l.wantFollows("v-0", status.Primary), l.isState(v1alpha1.StateReady)) })
	events := l.happened()
	for _, want := range []string{v1alpha1.EventPromoted, v1alpha1.EventPrimaryChanged, v1alpha1.EventReattached, "best offset"} {
		if !strings.Contains(events, want) {
			t.Errorf("no event %s among:\n%s", want, events)
		}
	}
}

func TestAnEmptyPrimaryIsNotFollowed(t *testing.T) {
	l := newLab(t)
	l.makeValkey(operatorMode(1))
	l.untilReady()
	l.fill("v-0", "v-1")
	// A crash without persistence, with a replica that has not come back to it yet.
	at := l.addressOf("nobody")
	if err := l.processes["v-1"].Node().ReplicaOf(t.Context(), valkeyclient.Address(at)); err != nil {
		t.Fatal(err)
	}
	l.crash("v-0")
	l.nodeWork()
	l.until("the node with the data is primary", func() error {
		return all(l.wantPrimary("v-1"), l.wantFollows("v-0", "v-1"), l.wantServiceAt("v-1"), l.isState(v1alpha1.StateReady))
	})
	if status, err := l.processes["v-1"].Node().Status(t.Context()); err != nil || status.Keys == 0 {
		t.Errorf("the data are gone: %+v, %v", status.Keys, err)
	}
}

func TestWithModeNoneNobodyIsPromoted(t *testing.T) {
	l := newLab(t)
	l.makeValkey(func(valkey *v1alpha1.Valkey) { valkey.Spec.Replicas = 1 })
	l.untilReady()
	l.fill("v-0", "v-1")
	l.broken["v-0"] = true
	l.crash("v-0")
	l.until("the loss is told", func() error {
		return all(l.wantCondition(v1alpha1.ConditionPrimaryElected, metav1.ConditionFalse, v1alpha1.ReasonPrimaryUnreachable), l.isState(v1alpha1.StateFailed))
	})
	condition := meta.FindStatusCondition(l.valkey().Status.Conditions, v1alpha1.ConditionPrimaryElected)
	if !strings.Contains(condition.Message, "a person decides") {
		t.Errorf("the condition does not say what a person can do: %s", condition.Message)
	}
	deadline := time.Now().Add(3 * time.Second)
	for time.Now().Before(deadline) {
		l.pass()
		if err := l.wantPrimary("v-1"); err == nil {
			t.Fatal("v-1 was promoted")
		}
	}
}

func TestAStrayReplicaIsNamedAndReattached(t *testing.T) {
	l := newLab(t)
	l.makeValkey(operatorMode(2))
	l.untilReady()
	at := l.addressOf("nobody")
	if err := l.processes["v-2"].Node().ReplicaOf(t.Context(), valkeyclient.Address(at)); err != nil {
		t.Fatal(err)
	}
	l.pass()
	if err := l.wantCondition(v1alpha1.ConditionReplicationHealthy, metav1.ConditionFalse, v1alpha1.ReasonWrongPrimary); err != nil {
		t.Error(err)
	}
	if message := meta.FindStatusCondition(l.valkey().Status.Conditions, v1alpha1.ConditionReplicationHealthy).Message; !strings.Contains(message, naming.NodePod("v-2")) {
		t.Errorf("the condition does not name the pod: %s", message)
	}
	l.until("attached again", func() error {
		return all(l.wantFollows("v-2", "v-0"), l.wantCondition(v1alpha1.ConditionReplicationHealthy, metav1.ConditionTrue, ""))
	})
}

func TestARollTakesOneAtATimeAndHandsOverOnce(t *testing.T) {
	l := newLab(t)
	l.makeValkey(operatorMode(2))
	l.untilReady()
	l.fill("v-0", "v-1", "v-2")
	l.happened()
	l.change(func(spec *v1alpha1.ValkeySpec) { spec.PodAnnotations = map[string]string{"team": "blue"} })
	l.until("rolled", func() error {
		down := 0
		for _, node := range []string{"v-0", "v-1", "v-2"} {
			if pod := l.podOf(node); pod == nil || !isReady(pod) {
				down++
			}
		}
		if down > 1 {
			t.Fatalf("%d pods are away at a time", down)
		}
		var nodes v1alpha1.ValkeyNodeList
		if err := l.kube.List(t.Context(), &nodes); err != nil {
			return err
		}
		for i := range nodes.Items {
			if nodes.Items[i].Status.PendingRevision != "" || nodes.Items[i].Spec.WorkloadRevision == "" {
				return fmt.Errorf("%s is not rolled", nodes.Items[i].Name)
			}
		}
		return l.isState(v1alpha1.StateReady)
	})
	status := l.valkey().Status
	if record := status.LastFailover; record == nil || record.From != "v-0" || record.Cause != v1alpha1.FailoverCauseRoll || record.Duration == nil {
		t.Errorf("last failover: %+v", record)
	}
	if operation := status.Operation; operation == nil || operation.Phase != v1alpha1.OperationSucceeded {
		t.Errorf("operation: %+v", operation)
	}
	if data, err := l.processes[status.Primary].Node().Status(t.Context()); err != nil || data.Keys == 0 {
		t.Errorf("the data are gone: %+v, %v", data.Keys, err)
	}
	events := l.happened()
	if strings.Count(events, v1alpha1.EventHandedOver) != 1 || strings.Count(events, v1alpha1.EventRollStarted) != 3 || !strings.Contains(events, v1alpha1.EventRollFinished) {
		t.Errorf("events:\n%s", events)
	}
}

func TestThePrimaryIsHandedOverBeforeItIsScaledAway(t *testing.T) {
	l := newLab(t)
	l.makeValkey(operatorMode(2))
	l.untilReady()
	l.fill("v-0", "v-1", "v-2")
	if err := l.processes["v-0"].Node().Failover(t.Context(), valkeyclient.FailoverRequest{To: valkeyclient.Address(l.addressOf("v-2")), Timeout: 5 * time.Second}); err != nil {
		t.Fatal(err)
	}
	l.until("v-2 is primary", func() error { return all(l.wantPrimary("v-2"), l.isState(v1alpha1.StateReady), l.wantServiceAt("v-2")) })
	l.change(func(spec *v1alpha1.ValkeySpec) { spec.Replicas = 1 })
	l.until("two nodes", func() error {
		if l.processes["v-2"] != nil {
			return errors.New("v-2 is still there")
		}
		return l.isState(v1alpha1.StateReady)
	})
	primary := l.valkey().Status.Primary
	if data, err := l.processes[primary].Node().Status(t.Context()); err != nil || data.Keys == 0 {
		t.Errorf("the data are gone from %s: %+v, %v", primary, data.Keys, err)
	}
	if replicas := l.valkey().Status.Replicas; replicas != 2 {
		t.Errorf("%d nodes in the status", replicas)
	}
}

func isReady(pod *corev1.Pod) bool {
	for _, condition := range pod.Status.Conditions {
		if condition.Type == corev1.PodReady {
			return condition.Status == corev1.ConditionTrue
		}
	}
	return false
}

// A client whose machine still leads it to the old primary connects anew after the change has cut it off. It must not stay there, on a replica.
func TestAClientThatCameBackToTheOldPrimaryIsCutOff(t *testing.T) {
	l := newLab(t)
	l.makeValkey(operatorMode(1))
	l.untilReady()
	l.fill("v-0", "v-1")
	l.until("led to v-0", func() error { return l.wantServiceAt("v-0") })
	l.handOverByHand("v-0", "v-1")
	client, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", l.addressOf("v-0").String())
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	l.until("cut off", func() error {
		if err := l.wantServiceAt("v-1"); err != nil {
			return err
		}
		if err := client.SetReadDeadline(time.Now().Add(10 * time.Millisecond)); err != nil {
			return err
		}
		if _, err := client.Read(make([]byte, 1)); !errors.Is(err, io.EOF) {
			return fmt.Errorf("still connected: %w", err)
		}
		return nil
	})
	l.until("nothing is left to do", func() error { return all(l.wantFollows("v-0", "v-1"), l.isState(v1alpha1.StateReady)) })
}

// handOverByHand is what somebody else's change of the primary does.
func (l *lab) handOverByHand(from, to string) {
	l.t.Helper()
	ctx, cancel := context.WithTimeout(l.t.Context(), 5*time.Second)
	defer cancel()
	if err := l.processes[from].Node().ReplicaOf(ctx, addressFor(l.addressOf(to))); err != nil {
		l.t.Fatal(err)
	}
	if err := l.processes[to].Node().ReplicaOfNoOne(ctx); err != nil {
		l.t.Fatal(err)
	}
}
