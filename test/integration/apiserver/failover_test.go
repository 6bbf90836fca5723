// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package apiserver

import (
	"errors"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/valkeykube/valkeykube/pkg/apis/valkey/v1alpha1"
	"github.com/valkeykube/valkeykube/pkg/valkeyclient"
	"github.com/valkeykube/valkeykube/pkg/valkeyclient/valkeytest"
)

func failover(t *testing.T, namespace string, request *v1alpha1.Failover, dryRun ...string) (*v1alpha1.Failover, error) {
	t.Helper()
	return shared.client.ValkeyV1alpha1().Valkeys(namespace).Failover(t.Context(), "cache", request, metav1.CreateOptions{DryRun: dryRun})
}

func get(t *testing.T, namespace string) *v1alpha1.Valkey {
	t.Helper()
	valkey, err := shared.client.ValkeyV1alpha1().Valkeys(namespace).Get(t.Context(), "cache", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return valkey
}

func isPrimary(t *testing.T, node *valkeytest.Process) bool {
	t.Helper()
	role, err := node.Node().Role(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return role.Role == valkeyclient.RolePrimary
}

func TestFailoverWithSentinels(t *testing.T) {
	const namespace = "failover-sentinel"
	set := startSet(t, namespace, v1alpha1.FailoverModeSentinel, 2, 3)

	answer, err := failover(t, namespace, &v1alpha1.Failover{}, metav1.DryRunAll)
	if err != nil {
		t.Fatalf("dry run: %v", err)
	}
	if answer.Status.Phase != v1alpha1.OperationPending || answer.Status.From != "cache-0" || answer.Status.To == "" || answer.Name != "cache" || answer.Namespace != namespace {
		t.Errorf("dry run: %+v", answer)
	}
	if valkey := get(t, namespace); valkey.Status.Operation != nil || !isPrimary(t, set.Nodes[0]) {
		t.Errorf("a dry run changed something: %+v", valkey.Status)
	}

	answer, err = shared.client.ValkeyV1alpha1().ValkeySentinels(namespace).Failover(t.Context(), "watch",
		&v1alpha1.Failover{Spec: v1alpha1.FailoverRequestSpec{To: "cache-2"}}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	status := answer.Status
	if status.Phase != v1alpha1.OperationSucceeded || status.From != "cache-0" || status.To != "cache-2" || !status.Coordinated || status.Duration == nil {
		t.Errorf("answer %+v", status)
	}
	if answer.Spec.Valkey != "cache" || answer.Name != "watch" {
		t.Errorf("answer %+v", answer)
	}
	if !isPrimary(t, set.Nodes[2]) {
		t.Error("cache-2 is not primary")
	}
	recorded := get(t, namespace).Status
	if operation := recorded.Operation; operation == nil || operation.UID != status.OperationUID || operation.Phase != v1alpha1.OperationSucceeded ||
		operation.From != "cache-0" || operation.To != "cache-2" || operation.RequestedBy == "" || operation.ExpiresAt.IsZero() {
		t.Errorf("operation %+v", operation)
	}
	if last := recorded.LastFailover; last == nil || last.From != "cache-0" || last.To != "cache-2" || last.Cause != v1alpha1.FailoverCauseRequested || last.Duration == nil {
		t.Errorf("last failover %+v", last)
	}
	if recorded.Primary != "cache-2" || recorded.PrimaryAddress != set.Nodes[2].Address.String() {
		t.Errorf("primary %s at %s", recorded.Primary, recorded.PrimaryAddress)
	}

	set.Sentinels[0].Kill()
	set.Sentinels[1].Kill()
	_, err = failoverOnce(t, namespace)
	expect(t, err, http.StatusTooManyRequests, "NoQuorum", "only 1 of 3 Sentinels name")
	// Clients would repeat by themselves.
	if seconds, ok := apierrors.SuggestsClientDelay(err); ok && seconds > 0 {
		t.Errorf("Retry-After %d", seconds)
	}
}

// Who changes the primary while the controller is away is told what does not follow; and status does not name two primaries.
func TestFailoverWithoutTheController(t *testing.T) {
	const namespace = "failover-unled"
	set := startSet(t, namespace, v1alpha1.FailoverModeOperator, 1, 0)
	valkey := get(t, namespace)
	valkey.Status.Primary = "cache-0"
	valkey.Status.Reason, valkey.Status.Message = v1alpha1.ReasonPrimaryServing, "cache-0 is primary"
	valkey.Status.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionReady, Status: metav1.ConditionTrue, Reason: v1alpha1.ReasonPrimaryServing,
		Message: "cache-0 is primary", LastTransitionTime: metav1.Now()}}
	valkey.Status.Members = []v1alpha1.MemberStatus{
		{Node: "cache-0", Role: v1alpha1.RolePrimary, Synced: true}, {Node: "cache-1", Role: v1alpha1.RoleReplica, Synced: true, LinkUp: true}}
	if _, err := shared.client.ValkeyV1alpha1().Valkeys(namespace).UpdateStatus(t.Context(), valkey, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	ask := func() []string {
		var warnings []string
		result := shared.client.ValkeyV1alpha1().RESTClient().Post().Namespace(namespace).Resource("valkeys").Name("cache").SubResource("failover").
			Body(&v1alpha1.Failover{}).Do(t.Context())
		if err := result.Error(); err != nil {
			t.Fatal(err)
		}
		for _, warning := range result.Warnings() {
			warnings = append(warnings, warning.Text)
		}
		return warnings
	}
	world.away.Store(true)
	defer world.away.Store(false)
	if warnings := ask(); len(warnings) != 1 || !strings.Contains(warnings[0], "the controller is away") || !strings.Contains(warnings[0], "valkey-cache-primary") {
		t.Errorf("warnings %q", warnings)
	}
	if !isPrimary(t, set.Nodes[1]) {
		t.Error("cache-1 is not primary")
	}
	status := get(t, namespace).Status
	if status.Primary != "cache-1" || status.Message != "cache-1 is primary" || status.Conditions[0].Message != "cache-1 is primary" ||
		status.Members[0].Role != v1alpha1.RoleReplica || status.Members[0].Synced || status.Members[1].Role != v1alpha1.RolePrimary {
		t.Errorf("%+v", status)
	}
	set.AwaitReplicas(t)
	world.away.Store(false)
	if warnings := ask(); len(warnings) > 0 {
		t.Errorf("warnings although the controller is there: %q", warnings)
	}
}

func TestFailoverWithoutSentinels(t *testing.T) {
	const namespace = "failover-direct"
	set := startSet(t, namespace, v1alpha1.FailoverModeOperator, 2, 0)
	before := get(t, namespace)

	// Two callers at once: one wins, the other is told by whom, or finds it done.
	var callers sync.WaitGroup
	answers, errs := make([]*v1alpha1.Failover, 2), make([]error, 2)
	for i := range answers {
		callers.Go(func() {
			answers[i], errs[i] = failover(t, namespace, &v1alpha1.Failover{Spec: v1alpha1.FailoverRequestSpec{To: "cache-1"}})
		})
	}
	callers.Wait()
	won := 0
	for i, err := range errs {
		switch {
		case err == nil && answers[i].Status.Phase == v1alpha1.OperationSucceeded:
			won++
		case !apierrors.IsConflict(err) || !strings.Contains(err.Error(), "requested by system:apiserver") && !strings.Contains(err.Error(), "cache-1 is the primary"):
			t.Errorf("caller %d: %v, %+v", i, err, answers[i])
		}
	}
	if won != 1 || !isPrimary(t, set.Nodes[1]) {
		t.Errorf("%d callers won: %v", won, errs)
	}

	wrongUID := types.UID("another")
	oldVersion := before.ResourceVersion
	for name, c := range map[string]struct {
		spec  v1alpha1.FailoverRequestSpec
		code  int32
		cause metav1.CauseType
		text  string
	}{
		"the primary itself":    {v1alpha1.FailoverRequestSpec{To: "cache-1"}, http.StatusConflict, "IsPrimary", "cache-1"},
		"no member":             {v1alpha1.FailoverRequestSpec{To: "cache-9"}, http.StatusConflict, "NotAMember", "cache-9"},
		"another UID":           {v1alpha1.FailoverRequestSpec{Preconditions: &v1alpha1.FailoverPreconditions{UID: &wrongUID}}, http.StatusConflict, "PreconditionFailed", "another"},
		"an old version":        {v1alpha1.FailoverRequestSpec{Preconditions: &v1alpha1.FailoverPreconditions{ResourceVersion: &oldVersion}}, http.StatusConflict, "PreconditionFailed", oldVersion},
		"another Valkey":        {v1alpha1.FailoverRequestSpec{Valkey: "other"}, http.StatusUnprocessableEntity, metav1.CauseTypeFieldValueInvalid, "spec.valkey"},
		"an impossible timeout": {v1alpha1.FailoverRequestSpec{TimeoutSeconds: 31}, http.StatusUnprocessableEntity, metav1.CauseTypeFieldValueInvalid, "spec.timeoutSeconds"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := failover(t, namespace, &v1alpha1.Failover{Spec: c.spec})
			expect(t, err, c.code, c.cause, c.text)
		})
	}

	t.Run("a claim is respected", func(t *testing.T) {
		valkey := get(t, namespace)
		valkey.Status.Operation = &v1alpha1.OperationStatus{
			Type: v1alpha1.OperationFailover, UID: "u", RequestedBy: "alice", From: "cache-1", To: "cache-2", Phase: v1alpha1.OperationInProgress,
			StartedAt: metav1.Now(), ExpiresAt: metav1.NewTime(time.Now().Add(time.Minute)),
		}
		valkey, err := shared.client.ValkeyV1alpha1().Valkeys(namespace).UpdateStatus(t.Context(), valkey, metav1.UpdateOptions{})
		if err != nil {
			t.Fatal(err)
		}
		_, err = failover(t, namespace, &v1alpha1.Failover{})
		expect(t, err, http.StatusConflict, "OperationInProgress", "from cache-1 to cache-2, requested by alice")
		if operation := get(t, namespace).Status.Operation; operation.UID != "u" {
			t.Errorf("the claim was overwritten: %+v", operation)
		}
		valkey.Status.Operation.ExpiresAt = metav1.NewTime(time.Now().Add(-time.Second))
		if _, err := shared.client.ValkeyV1alpha1().Valkeys(namespace).UpdateStatus(t.Context(), valkey, metav1.UpdateOptions{}); err != nil {
			t.Fatal(err)
		}
		set.AwaitReplicas(t)
		if answer, err := failover(t, namespace, &v1alpha1.Failover{Spec: v1alpha1.FailoverRequestSpec{To: "cache-2"}}); err != nil || answer.Status.Phase != v1alpha1.OperationSucceeded {
			t.Errorf("an expired claim still held: %v, %+v", err, answer)
		}
	})

	t.Run("nobody answers", func(t *testing.T) {
		for _, node := range set.Nodes {
			node.Kill()
		}
		_, err := failoverOnce(t, namespace)
		expect(t, err, http.StatusServiceUnavailable, "Unreachable", "no process of the Valkey answers")
		if seconds, ok := apierrors.SuggestsClientDelay(err); !ok || seconds == 0 {
			t.Errorf("no Retry-After: %v", err)
		}
		if strings.Contains(err.Error(), "pw-of-") {
			t.Errorf("a password is in the answer: %v", err)
		}
	})
}

// failoverOnce asks without the client's own repetitions.
func failoverOnce(t *testing.T, namespace string) (*v1alpha1.Failover, error) {
	t.Helper()
	answer := &v1alpha1.Failover{}
	err := shared.client.ValkeyV1alpha1().RESTClient().Post().Namespace(namespace).Resource("valkeys").Name("cache").SubResource("failover").
		MaxRetries(0).Body(&v1alpha1.Failover{}).Do(t.Context()).Into(answer)
	return answer, err
}

func TestFailoverOfWhatIsNotThere(t *testing.T) {
	_, err := failover(t, "failover-missing", &v1alpha1.Failover{})
	if !apierrors.IsNotFound(err) {
		t.Errorf("a Valkey that does not exist: %v", err)
	}
	makeObjects(t, "failover-missing", v1alpha1.FailoverModeSentinel, 1, 3)
	_, err = failoverOnce(t, "failover-missing")
	expect(t, err, http.StatusServiceUnavailable, "", "cannot log in yet")
	_, err = shared.client.ValkeyV1alpha1().ValkeySentinels("failover-missing").Failover(t.Context(), "watch",
		&v1alpha1.Failover{Spec: v1alpha1.FailoverRequestSpec{Valkey: "other"}}, metav1.CreateOptions{})
	expect(t, err, http.StatusUnprocessableEntity, metav1.CauseTypeFieldValueNotSupported, "spec.valkey")
}

func expect(t *testing.T, err error, code int32, cause metav1.CauseType, text string) {
	t.Helper()
	var status *apierrors.StatusError
	if !errors.As(err, &status) {
		t.Fatalf("got %v, want a Status", err)
	}
	if status.ErrStatus.Code != code || !strings.Contains(status.ErrStatus.Message, text) {
		t.Errorf("got %d %q, want %d with %q", status.ErrStatus.Code, status.ErrStatus.Message, code, text)
	}
	if cause == "" {
		return
	}
	if details := status.ErrStatus.Details; details == nil || len(details.Causes) == 0 || details.Causes[0].Type != cause {
		t.Errorf("details %+v, want the cause %s", details, cause)
	}
}
