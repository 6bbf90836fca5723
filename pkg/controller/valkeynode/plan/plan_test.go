// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"context"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/valkeykube/valkeykube/pkg/apis/valkey/v1alpha1"
	"github.com/valkeykube/valkeykube/pkg/naming"
	"github.com/valkeykube/valkeykube/pkg/topology"
)

func byHand() *v1alpha1.ValkeyNode {
	return &v1alpha1.ValkeyNode{ObjectMeta: metav1.ObjectMeta{Name: "solo"}, Spec: v1alpha1.ValkeyNodeSpec{
		Image:  "valkey:8.1",
		Config: map[string]string{"maxmemory": "1gb"},
	}}
}

func ofValkey() *v1alpha1.ValkeyNode {
	return &v1alpha1.ValkeyNode{ObjectMeta: metav1.ObjectMeta{Name: "cart-0"}, Spec: v1alpha1.ValkeyNodeSpec{
		Valkey: "cart", Image: "valkey:8.1",
		ServerConfigMapName: "valkey-cart", UsersACLSecretName: "internal-cart-acl", SystemPasswordsSecretName: "internal-cart-system-passwords",
		Persistence: &v1alpha1.PersistenceSpec{Capacity: resource.MustParse("1Gi")},
	}}
}

func (m *model) condition(name string) metav1.Condition {
	m.t.Helper()
	condition := meta.FindStatusCondition(m.node.Status.Conditions, name)
	if condition == nil {
		m.t.Fatalf("no condition %s", name)
	}
	return *condition
}

func (m *model) wantCondition(name string, status metav1.ConditionStatus, reason string) {
	m.t.Helper()
	if got := m.condition(name); got.Status != status || got.Reason != reason {
		m.t.Errorf("%s = %s (%s: %s), want %s (%s)", name, got.Status, got.Reason, got.Message, status, reason)
	}
}

func TestANewNodeBecomesReadyAndThenNothingIsPlanned(t *testing.T) {
	for name, node := range map[string]*v1alpha1.ValkeyNode{"by hand": byHand(), "of a Valkey": ofValkey()} {
		t.Run(name, func(t *testing.T) {
			m := newModel(t, node)
			m.settle()
			before := m.node.Status
			if decided := m.pass(); len(decided.Actions) != 0 {
				t.Errorf("a converged node plans:\n%s", decided)
			}
			if !m.node.Status.Ready || m.node.Status.Role != v1alpha1.RolePrimary || m.node.Status.PodName != naming.NodePod(node.Name) {
				t.Errorf("status = %+v", m.node.Status)
			}
			m.wantCondition(v1alpha1.ConditionReady, metav1.ConditionTrue, v1alpha1.ReasonAsExpected)
			m.wantCondition(v1alpha1.ConditionLiveConfigApplied, metav1.ConditionTrue, v1alpha1.ReasonAsExpected)
			m.wantCondition(v1alpha1.ConditionWorkloadRollPending, metav1.ConditionFalse, v1alpha1.ReasonAsExpected)
			for i := range before.Conditions {
				if before.Conditions[i] != m.node.Status.Conditions[i] {
					t.Errorf("a condition moves while nothing happens: %v, then %v", before.Conditions[i], m.node.Status.Conditions[i])
				}
			}
		})
	}
}

func TestAChangeThatRestartsThePodWaitsToBeAuthorised(t *testing.T) {
	m := newModel(t, ofValkey())
	m.settle()
	m.node.Spec.Image = "valkey:9.1"
	m.settle()
	if m.podsRun != 1 {
		t.Fatalf("the pod was restarted without authorisation (%d pods)", m.podsRun)
	}
	pending := m.node.Status.PendingRevision
	if pending == "" || pending == m.node.Status.WorkloadRevision {
		t.Fatalf("pending revision %q, in force %q", pending, m.node.Status.WorkloadRevision)
	}
	m.wantCondition(v1alpha1.ConditionWorkloadRollPending, metav1.ConditionTrue, v1alpha1.ReasonAwaitingAuthorisation)

	m.node.Spec.WorkloadRevision = pending
	m.settle()
	if m.podsRun != 2 {
		t.Errorf("%d pods were made, want one more after the authorisation", m.podsRun)
	}
	if got := m.pod.Spec.Containers[0].Image; got != "valkey:9.1" {
		t.Errorf("the pod runs %s", got)
	}
	if m.node.Status.PendingRevision != "" || m.node.Status.WorkloadRevision != pending {
		t.Errorf("status = %+v", m.node.Status)
	}
}

func TestAnAuthorisationOfAnotherRevisionIsNone(t *testing.T) {
	m := newModel(t, ofValkey())
	m.settle()
	m.node.Spec.Image, m.node.Spec.WorkloadRevision = "valkey:9.1", "something-older"
	m.settle()
	if m.podsRun != 1 {
		t.Error("the pod was restarted by an authorisation of another revision")
	}
}

func TestANodeMadeByHandAsksNobody(t *testing.T) {
	m := newModel(t, byHand())
	m.settle()
	m.node.Spec.Image = "valkey:9.1"
	m.settle()
	if m.podsRun != 2 || m.pod.Spec.Containers[0].Image != "valkey:9.1" {
		t.Errorf("%d pods, the last with %s", m.podsRun, m.pod.Spec.Containers[0].Image)
	}
}

func TestANewAgentRestartsNoRunningPodAndReachesTheNextOne(t *testing.T) {
	for name, node := range map[string]*v1alpha1.ValkeyNode{"by hand": byHand(), "of a Valkey": ofValkey()} {
		t.Run(name, func(t *testing.T) {
			m := newModel(t, node)
			m.settle()
			m.env.AgentImage = "agent:2"
			m.settle()
			if m.podsRun != 1 {
				t.Fatal("an upgrade of the controller restarted a pod")
			}
			m.pod = nil
			m.settle()
			if got := m.pod.Annotations[naming.AnnotationAgentImage]; got != "agent:2" {
				t.Errorf("the next pod has agent %s", got)
			}
		})
	}
}

func TestAPodThatNeverStartedIsReplacedWhenItsTemplateIsMended(t *testing.T) {
	t.Run("a wrong server image", func(t *testing.T) {
		node := byHand()
		node.Spec.Image = "valkey:typo"
		m := newModel(t, node)
		m.badImages["valkey:typo"] = true
		m.settle()
		m.wantCondition(v1alpha1.ConditionReady, metav1.ConditionFalse, v1alpha1.ReasonImagePullFailed)
		if !strings.Contains(m.condition(v1alpha1.ConditionReady).Message, "valkey:typo") {
			t.Errorf("the message does not name the image: %s", m.condition(v1alpha1.ConditionReady).Message)
		}
		m.node.Spec.Image = "valkey:8.1"
		m.settle()
		m.wantCondition(v1alpha1.ConditionReady, metav1.ConditionTrue, v1alpha1.ReasonAsExpected)
	})
	t.Run("a wrong agent image, which is no change of the spec", func(t *testing.T) {
		m := newModel(t, ofValkey())
		m.env.AgentImage = "agent:typo"
		m.badImages["agent:typo"] = true
		m.settle()
		m.env.AgentImage = "agent:1"
		m.settle()
		m.wantCondition(v1alpha1.ConditionReady, metav1.ConditionTrue, v1alpha1.ReasonAsExpected)
	})
}

func TestThePodIsNotDeletedBeforeTheStatefulSetsControllerKnowsTheNewTemplate(t *testing.T) {
	m := newModel(t, byHand())
	m.settle()
	m.node.Spec.Image = "valkey:9.1"
	Compute(m.observe())
	for _, action := range Compute(m.observe()).Actions {
		m.act(action)
	}
	observed := m.observe()
	observed.Objects.StatefulSet.Generation = observed.Objects.StatefulSet.Status.ObservedGeneration + 1
	if decided := Compute(observed); len(decided.Actions) != 0 {
		t.Errorf("its controller would make the old pod again:\n%s", decided)
	}
}

func TestADeploymentIsOnlyTouchedForANewRevision(t *testing.T) {
	node := byHand()
	node.Spec.WorkloadType = v1alpha1.WorkloadTypeDeployment
	m := newModel(t, node)
	m.settle()
	m.env.AgentImage = "agent:2"
	if decided := m.pass(); len(decided.Actions) != 0 {
		t.Errorf("a new agent restarts a cache:\n%s", decided)
	}
	m.pod = podWith(func(*corev1.Pod) {})
	if decided := m.pass(); decided.String() != "apply Deployment valkey-solo" {
		t.Errorf("a pod that never started keeps an outdated template; planned:\n%s", decided)
	}
	m.pod = nil
	m.node.Spec.Image = "valkey:9.1"
	if decided := m.pass(); decided.String() != "apply Deployment valkey-solo" {
		t.Errorf("a new image plans:\n%s", decided)
	}
}

func TestObjectsOfOthersAreLeftAlone(t *testing.T) {
	ctx := context.Background()
	for kind, make := range map[string]func(*model) error{
		"StatefulSet": func(m *model) error {
			_, err := m.client.AppsV1().StatefulSets(namespace).Create(ctx, &appsv1.StatefulSet{ObjectMeta: metav1.ObjectMeta{Name: "valkey-cart-0"}}, metav1.CreateOptions{})
			return err
		},
		"Service": func(m *model) error {
			_, err := m.client.CoreV1().Services(namespace).Create(ctx, &corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: "valkey-cart-0"}}, metav1.CreateOptions{})
			return err
		},
		"PersistentVolumeClaim": func(m *model) error {
			_, err := m.client.CoreV1().PersistentVolumeClaims(namespace).Create(ctx, &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Name: "valkey-cart-0-data"}}, metav1.CreateOptions{})
			return err
		},
	} {
		t.Run(kind, func(t *testing.T) {
			m := newModel(t, ofValkey())
			if err := make(m); err != nil {
				t.Fatal(err)
			}
			m.settle()
			if m.podsRun != 0 && kind != "StatefulSet" {
				t.Errorf("a pod was made on somebody else's %s", kind)
			}
			m.wantCondition(v1alpha1.ConditionReady, metav1.ConditionFalse, v1alpha1.ReasonForeignObject)
			if !strings.Contains(m.condition(v1alpha1.ConditionReady).Message, kind) {
				t.Errorf("the message does not name it: %s", m.condition(v1alpha1.ConditionReady).Message)
			}
		})
	}
}

func TestAClaimThatAnEarlierNodeLeftIsTakenUpAndGrown(t *testing.T) {
	m := newModel(t, ofValkey())
	m.settle()
	again := ofValkey()
	again.UID = "another"
	again.Spec.Persistence.Capacity = resource.MustParse("2Gi")
	next := newModel(t, again)
	next.client = m.client
	ctx := context.Background()
	if err := m.client.AppsV1().StatefulSets(namespace).Delete(ctx, "valkey-cart-0", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := m.client.CoreV1().Services(namespace).Delete(ctx, "valkey-cart-0", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	next.settle()
	next.wantCondition(v1alpha1.ConditionPersistentVolumeClaimReady, metav1.ConditionTrue, v1alpha1.ReasonAsExpected)
	next.wantCondition(v1alpha1.ConditionPersistentVolumeClaimSizeReady, metav1.ConditionTrue, v1alpha1.ReasonAsExpected)
	claim, err := m.client.CoreV1().PersistentVolumeClaims(namespace).Get(ctx, "valkey-cart-0-data", metav1.GetOptions{})
	if err != nil || claim.Spec.Resources.Requests.Storage().String() != "2Gi" {
		t.Errorf("claim %v, %v", claim.Spec.Resources.Requests, err)
	}
}

func TestNothingIsMadeForANodeThatGoes(t *testing.T) {
	m := newModel(t, ofValkey())
	m.node.DeletionTimestamp = &metav1.Time{Time: m.now}
	if decided := Compute(m.observe()); len(decided.Actions) != 0 || decided.RequeueAfter != 0 {
		t.Errorf("planned:\n%s", decided)
	}
}

func TestLooksGrowApartWhileNothingChanges(t *testing.T) {
	m := newModel(t, byHand())
	m.badImages["valkey:8.1"] = true
	m.settle()
	first := Compute(m.observe()).RequeueAfter
	m.now = m.now.Add(time.Hour)
	last := Compute(m.observe()).RequeueAfter
	if first > 5*time.Second || last != lookUnwellLast {
		t.Errorf("looks after %v and after an hour %v, want seconds and %v", first, last, lookUnwellLast)
	}
}

func TestAnUnreachableServerIsNotReadyAndNotTouched(t *testing.T) {
	m := newModel(t, ofValkey())
	m.settle()
	before := m.node.Status
	m.isSilent = true
	for range 2 {
		if decided := m.pass(); len(decided.Actions) != 0 || decided.RequeueAfter != lookSoon {
			t.Errorf("looks again after %v, planned:\n%s", decided.RequeueAfter, decided)
		}
	}
	if !m.node.Status.Ready || m.node.Status.Role != before.Role {
		t.Errorf("one unanswered question moved the status: %+v", m.node.Status)
	}
	for range 8 {
		m.pass()
	}
	m.wantCondition(v1alpha1.ConditionReady, metav1.ConditionFalse, v1alpha1.ReasonServerUnreachable)
	m.wantCondition(v1alpha1.ConditionLiveConfigApplied, metav1.ConditionUnknown, v1alpha1.ReasonServerUnreachable)
	if m.node.Status.Role != v1alpha1.RoleUnknown || m.podsRun != 1 {
		t.Errorf("role %s, %d pods", m.node.Status.Role, m.podsRun)
	}
	m.isSilent = false
	m.pass()
	m.wantCondition(v1alpha1.ConditionReady, metav1.ConditionTrue, v1alpha1.ReasonAsExpected)
	m.isSilent = true
	m.pass()
	if !m.node.Status.Ready {
		t.Error("an earlier silence counts for a new one")
	}
}

func TestReplicasNameTheirPrimary(t *testing.T) {
	m := newModel(t, ofValkey())
	m.settle()
	o := m.observe()
	o.Server.Role, o.Server.Primary = topology.RoleReplica, topology.Address{Host: "valkey-cart-1-0.valkey-cart-1.shop.svc.cluster.local", Port: 6379}
	status := Status(o, Compute(o), nil)
	if status.Role != v1alpha1.RoleReplica || status.ReplicaOf != "valkey-cart-1-0.valkey-cart-1.shop.svc.cluster.local:6379" {
		t.Errorf("role %s of %s", status.Role, status.ReplicaOf)
	}
}
