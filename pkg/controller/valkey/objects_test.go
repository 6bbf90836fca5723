// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package valkey

import (
	"errors"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/valkeykube/valkeykube/pkg/apis/valkey/v1alpha1"
	"github.com/valkeykube/valkeykube/pkg/naming"
)

func (l *lab) data(secret string) map[string]string {
	l.t.Helper()
	object := &corev1.Secret{}
	l.get(secret, object)
	data := map[string]string{}
	for key, value := range object.Data {
		data[key] = string(value)
	}
	return data
}

func (l *lab) condition(kind string) metav1.Condition {
	if condition := meta.FindStatusCondition(l.valkey().Status.Conditions, kind); condition != nil {
		return *condition
	}
	return metav1.Condition{}
}

func TestPasswordsAreDrawnOnceAndALostSecretComesBackAsItWas(t *testing.T) {
	l := newLab(t)
	l.makeValkey(operatorMode(0))
	l.untilReady()
	before := l.data(naming.SystemPasswordsSecret(testName))
	for _, user := range naming.SystemUsers() {
		if len(before[user]) != 32 {
			t.Errorf("password of %s: %d characters", user, len(before[user]))
		}
	}
	for _, fresh := range []bool{false, true} {
		if fresh {
			l.controller = l.newController() // that never saw them
		}
		lost := &corev1.Secret{}
		l.get(naming.SystemPasswordsSecret(testName), lost)
		if err := l.kube.Delete(t.Context(), lost); err != nil {
			t.Fatal(err)
		}
		l.pass()
		for user, password := range l.data(naming.SystemPasswordsSecret(testName)) {
			if password != before[user] {
				t.Errorf("another password for %s", user)
			}
		}
		l.untilReady()
	}
	if events := l.happened(); !strings.Contains(events, v1alpha1.EventPasswordsRecovered) || strings.Contains(events, before[naming.UserOperator]) {
		t.Errorf("events:\n%s", events)
	}
}

func TestAMissingUserSecretIsNamedAndARunningInstanceGoesOn(t *testing.T) {
	l := newLab(t)
	l.create(&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "app", Namespace: testNamespace}, Data: map[string][]byte{"current": []byte("hush-hush")}})
	l.makeValkey(func(valkey *v1alpha1.Valkey) {
		valkey.Spec.Users = []v1alpha1.UserSpec{{Name: "app", PasswordSecret: &v1alpha1.PasswordSecretRef{Name: "app", Keys: []string{"current"}}}}
	})
	l.untilReady()
	acl := l.data(naming.ACLSecret(testName))[naming.KeyACL]
	if !strings.Contains(acl, "user app on") {
		t.Fatalf("ACL file without the user")
	}
	secret := &corev1.Secret{}
	l.get("app", secret)
	if err := l.kube.Delete(t.Context(), secret); err != nil {
		t.Fatal(err)
	}
	l.controller.now = func() time.Time { return time.Now().Add(2 * secretLifetime) }
	l.pass()
	warning := l.condition(v1alpha1.ConditionConfigurationWarning)
	if warning.Status != metav1.ConditionTrue || warning.Reason != v1alpha1.ReasonSecretMissing || !strings.Contains(warning.Message, "Secret app does not exist") {
		t.Errorf("condition: %+v", warning)
	}
	if after := l.data(naming.ACLSecret(testName))[naming.KeyACL]; after != acl {
		t.Error("the ACL file changed")
	}
	if err := l.isState(v1alpha1.StateReady); err != nil {
		t.Error(err)
	}
	if events := l.happened(); !strings.Contains(events, v1alpha1.EventSecretMissing) || strings.Contains(events, "hush") {
		t.Errorf("events:\n%s", events)
	}
}

func TestForeignObjectsAreLeftAloneAndNamed(t *testing.T) {
	l := newLab(t)
	theirs := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: naming.PrimaryService(testName), Namespace: testNamespace, Labels: map[string]string{"of": "them"}}}
	l.create(theirs)
	l.makeValkey(nil)
	l.until("the conflict is told", func() error {
		return l.wantCondition(v1alpha1.ConditionDegraded, metav1.ConditionTrue, v1alpha1.ReasonForeignObject)
	})
	l.get(theirs.Name, theirs)
	if len(theirs.OwnerReferences) > 0 || theirs.Labels["of"] != "them" || len(theirs.Labels) != 1 {
		t.Errorf("their Service was changed: %+v", theirs.ObjectMeta)
	}
	if events := l.happened(); strings.Count(events, v1alpha1.EventForeignObject) == 0 {
		t.Errorf("events:\n%s", events)
	}
	l.until("the rest runs", func() error { return l.wantPrimary("v-0") })
	if err := l.kube.Delete(t.Context(), theirs); err != nil {
		t.Fatal(err)
	}
	l.controller.now = func() time.Time { return time.Now().Add(failureLast) }
	l.untilReady()
}

func TestAForeignSecretIsNotUsed(t *testing.T) {
	l := newLab(t)
	theirs := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Name: naming.SystemPasswordsSecret(testName), Namespace: testNamespace},
		Data:       map[string][]byte{naming.UserOperator: []byte("chosen by somebody")},
	}
	l.create(theirs)
	l.makeValkey(nil)
	for range 3 {
		l.pass()
	}
	var nodes v1alpha1.ValkeyNodeList
	if err := l.kube.List(t.Context(), &nodes); err != nil || len(nodes.Items) > 0 {
		t.Errorf("nodes were made over a foreign Secret: %d, %v", len(nodes.Items), err)
	}
	if after := l.data(theirs.Name); len(after) != 1 {
		t.Errorf("their Secret has %d keys", len(after))
	}
	if err := l.wantCondition(v1alpha1.ConditionDegraded, metav1.ConditionTrue, v1alpha1.ReasonForeignObject); err != nil {
		t.Error(err)
	}
}

func TestAMissingRightOnOneKindKeepsNothingElseFromWorking(t *testing.T) {
	l := newLab(t)
	l.refuse = func(what string) error {
		if strings.Contains(what, "PodDisruptionBudget") {
			return apierrors.NewForbidden(schema.GroupResource{Group: "policy", Resource: "poddisruptionbudgets"}, "", errors.New("no"))
		}
		return nil
	}
	l.makeValkey(operatorMode(1))
	l.until("it serves", func() error { return all(l.wantPrimary("v-0"), l.wantServiceAt("v-0"), l.wantFollows("v-1", "v-0")) })
	if err := l.wantCondition(v1alpha1.ConditionDegraded, metav1.ConditionTrue, v1alpha1.ReasonApplyFailed); err != nil {
		t.Error(err)
	}
	if message := l.condition(v1alpha1.ConditionDegraded).Message; !strings.Contains(message, "PodDisruptionBudget") {
		t.Errorf("the condition does not say what failed: %s", message)
	}
	l.refuse = nil
	l.controller.now = func() time.Time { return time.Now().Add(failureLast) }
	l.untilReady()
}

func TestAFailureThatLastsIsNotTriedEachTime(t *testing.T) {
	l := newLab(t)
	tried := 0
	l.refuse = func(what string) error {
		if strings.Contains(what, "RoleBinding") {
			tried++
			return apierrors.NewForbidden(schema.GroupResource{Group: "rbac.authorization.k8s.io", Resource: "rolebindings"}, "", errors.New("no"))
		}
		return nil
	}
	l.makeValkey(nil)
	for range 20 {
		l.pass()
	}
	if tried > 2 {
		t.Errorf("tried %d times in 20 passes", tried)
	}
	if events := l.happened(); strings.Count(events, v1alpha1.EventApplyFailed) > 2 {
		t.Errorf("events:\n%s", events)
	}
}

func TestNothingIsDoneInANamespaceThatGoes(t *testing.T) {
	l := newLab(t)
	l.makeValkey(operatorMode(1))
	l.untilReady()
	l.happened()
	namespace := &corev1.Namespace{}
	l.get("", namespace)
	namespace.Finalizers = []string{"kubernetes"}
	if err := l.kube.Update(t.Context(), namespace); err != nil {
		t.Fatal(err)
	}
	if err := l.kube.Delete(t.Context(), namespace); err != nil {
		t.Fatal(err)
	}
	service := &corev1.Service{}
	l.get(naming.PrimaryService(testName), service)
	if err := l.kube.Delete(t.Context(), service); err != nil {
		t.Fatal(err)
	}
	l.deletePod("v-0")
	l.refuse = func(string) error {
		refused := apierrors.NewForbidden(schema.GroupResource{Resource: "any"}, "", errors.New("the namespace is being terminated"))
		refused.ErrStatus.Details.Causes = []metav1.StatusCause{{Type: corev1.NamespaceTerminatingCause}}
		return refused
	}
	for range 3 {
		l.pass() // an error would fail the test
	}
	if events := l.happened(); events != "" {
		t.Errorf("events:\n%s", events)
	}
}

func TestABudgetThatIsSwitchedOffGoes(t *testing.T) {
	l := newLab(t)
	l.makeValkey(nil)
	l.untilReady()
	budget := &policyv1.PodDisruptionBudget{}
	l.get(naming.ValkeyPDB(testName), budget)
	if budget.Spec.MinAvailable.IntValue() != 0 {
		t.Errorf("a drain of a primary alone would never complete: minAvailable %s", budget.Spec.MinAvailable)
	}
	l.change(func(spec *v1alpha1.ValkeySpec) { spec.PodDisruptionBudget.Mode = v1alpha1.PodDisruptionBudgetDisabled })
	l.pass()
	err := l.kube.Get(t.Context(), client.ObjectKeyFromObject(budget), budget)
	if !apierrors.IsNotFound(err) {
		t.Errorf("the budget is still there: %v", err)
	}
}

func TestAClaimOfSomebodyElseGoesFirst(t *testing.T) {
	l := newLab(t)
	l.makeValkey(operatorMode(1))
	l.untilReady()
	valkey := l.valkey()
	valkey.Status.Operation = &v1alpha1.OperationStatus{
		Type: v1alpha1.OperationFailover, UID: "theirs", RequestedBy: "somebody", From: "v-0", To: "v-1", Phase: v1alpha1.OperationInProgress,
		StartedAt: metav1.Now(), ExpiresAt: metav1.NewTime(time.Now().Add(20 * time.Second)),
	}
	if err := l.kube.Status().Update(t.Context(), valkey); err != nil {
		t.Fatal(err)
	}
	at := l.addressOf("nobody")
	if err := l.processes["v-1"].Node().ReplicaOf(t.Context(), addressFor(at)); err != nil {
		t.Fatal(err)
	}
	for range 4 {
		l.pass()
	}
	if replication, err := l.roleOf("v-1"); err != nil || replication.Primary.Port != at.Port {
		t.Errorf("it was re-attached under a claim: %+v, %v", replication.Primary, err)
	}
	l.controller.now = func() time.Time { return time.Now().Add(time.Minute) }
	l.until("the claim has expired", func() error {
		if operation := l.valkey().Status.Operation; operation.Phase != v1alpha1.OperationFailed || operation.UID != "theirs" {
			return errors.New("still " + string(operation.Phase))
		}
		return l.wantFollows("v-1", "v-0")
	})
	if events := l.happened(); !strings.Contains(events, v1alpha1.EventOperationExpired) {
		t.Errorf("events:\n%s", events)
	}
}

func TestAStatusWriteNeverOverwritesAClaim(t *testing.T) {
	l := newLab(t)
	l.makeValkey(operatorMode(1))
	l.untilReady()
	seen, err := l.controller.observe(t.Context(), request.NamespacedName, patience)
	if err != nil {
		t.Fatal(err)
	}
	claimed := l.valkey()
	claimed.Status.Operation = &v1alpha1.OperationStatus{Type: v1alpha1.OperationFailover, UID: "theirs", Phase: v1alpha1.OperationInProgress}
	if err := l.kube.Status().Update(t.Context(), claimed); err != nil {
		t.Fatal(err)
	}
	status := seen.Valkey.Status.DeepCopy()
	status.Message = "older"
	if err := l.controller.writeStatus(t.Context(), seen, *status); !apierrors.IsConflict(err) {
		t.Errorf("a write over an older look: %v", err)
	}
	if operation := l.valkey().Status.Operation; operation == nil || operation.UID != "theirs" {
		t.Errorf("the claim is gone: %+v", operation)
	}
}

func TestANodeThatLostItsLabelIsStillOurs(t *testing.T) {
	l := newLab(t)
	l.makeValkey(operatorMode(1))
	l.untilReady()
	node := &v1alpha1.ValkeyNode{}
	l.get("v-1", node)
	delete(node.Labels, naming.LabelValkey)
	if err := l.kube.Update(t.Context(), node); err != nil {
		t.Fatal(err)
	}
	l.pass()
	l.get("v-1", node)
	if node.Labels[naming.LabelValkey] != testName {
		t.Errorf("labels: %v", node.Labels)
	}
	l.untilReady()
}

func TestAForeignNodeIsLeftAloneAndNamed(t *testing.T) {
	l := newLab(t)
	l.create(&v1alpha1.ValkeyNode{ObjectMeta: metav1.ObjectMeta{Name: "v-1", Namespace: testNamespace}})
	l.makeValkey(operatorMode(1))
	l.until("the conflict is told, and the primary serves", func() error {
		return all(l.wantCondition(v1alpha1.ConditionDegraded, metav1.ConditionTrue, v1alpha1.ReasonForeignObject), l.wantServiceAt("v-0"))
	})
	node := &v1alpha1.ValkeyNode{}
	l.get("v-1", node)
	if len(node.OwnerReferences) > 0 || node.Spec.Valkey != "" {
		t.Errorf("their node was changed: %+v", node.ObjectMeta)
	}
}
