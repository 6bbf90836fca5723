// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package apiserver

import (
	"errors"
	"net/http"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/valkeykube/valkeykube/pkg/apis/valkey/v1alpha1"
)

// What was begun and taken back is an error, whichever way it was asked for; what was undone is in it, and the object's status agrees.
func TestFailoverThatFails(t *testing.T) {
	const namespace = "failover-fails"
	set := startSet(t, namespace, v1alpha1.FailoverModeSentinel, 1, 3)
	mayPause := func(rule string) {
		set.Nodes[0].CommandAs(credentials("tester"), "ACL", "SETUSER", "_apiserver", rule)
	}
	mayPause("-client|pause")
	api := shared.client.ValkeyV1alpha1()
	for name, ask := range map[string]func() error{
		"a Valkey": func() error {
			_, err := failover(t, namespace, &v1alpha1.Failover{})
			return err
		},
		"a ValkeySentinel": func() error {
			_, err := api.ValkeySentinels(namespace).Failover(t.Context(), "watch", &v1alpha1.Failover{}, metav1.CreateOptions{})
			return err
		},
		"a FailoverRequest": func() error {
			_, err := ask(t, namespace, v1alpha1.FailoverRequestSpec{Valkey: "cache"})
			return err
		},
	} {
		t.Run("asked with "+name, func(t *testing.T) {
			err := ask()
			expect(t, err, http.StatusInternalServerError, "FailoverFailed", "failed: cache-0 to cache-1: pause writes: ")
			expectUndone(t, namespace, err)
		})
	}
	t.Run("asked with kubectl", func(t *testing.T) {
		const path = "/apis/valkey.io/v1alpha1/namespaces/" + namespace + "/valkeys/cache/failover"
		const manifest = `{"apiVersion": "valkey.io/v1alpha1", "kind": "FailoverRequest", "metadata": {"name": "a"}, "spec": {"valkey": "cache"}}`
		for input, args := range map[string][]string{"{}": {"create", "--raw", path, "-f", "-"}, manifest: {"create", "-f", "-"}} {
			output, err := kubectl(t, namespace, input, args...)
			if err == nil || !strings.Contains(output, "pause writes: ") || !strings.Contains(output, "undone: settle and resume") {
				t.Errorf("%v: %v: %s", args, err, output)
			}
		}
	})
	if !isPrimary(t, set.Nodes[0]) {
		t.Error("cache-0 is not primary any more")
	}

	mayPause("+client|pause")
	if answer, err := failover(t, namespace, &v1alpha1.Failover{}); err != nil || answer.Status.Phase != v1alpha1.OperationSucceeded {
		t.Errorf("%+v: %v", answer, err)
	}
}

func expectUndone(t *testing.T, namespace string, err error) {
	t.Helper()
	var status *apierrors.StatusError
	if !errors.As(err, &status) {
		t.Fatal(err)
	}
	if seconds, ok := apierrors.SuggestsClientDelay(err); ok && seconds > 0 {
		t.Errorf("Retry-After %d", seconds)
	}
	said := map[metav1.CauseType]string{}
	for _, cause := range status.ErrStatus.Details.Causes {
		said[cause.Type] += cause.Message + "\n"
	}
	recorded := get(t, namespace).Status.Operation
	if recorded == nil || recorded.Phase != v1alpha1.OperationFailed || !strings.Contains(recorded.Message, "pause writes: ") {
		t.Fatalf("recorded %+v", recorded)
	}
	if !strings.Contains(said["Undone"], "settle and resume\n") || said["NotUndone"] != "" || said["Recorded"] != "as Failed, uid "+recorded.UID+"\n" {
		t.Errorf("causes %v, the operation is %s", said, recorded.UID)
	}
}

// While no ValkeySentinel selects a Valkey, asking again is of no use.
func TestFailoverThatNobodyCouldCarryOut(t *testing.T) {
	const namespace = "failover-unwatched"
	startSet(t, namespace, v1alpha1.FailoverModeSentinel, 1, 0)
	for _, mode := range []v1alpha1.FailoverRunMode{v1alpha1.FailoverCoordinated, v1alpha1.FailoverForced} {
		_, err := failover(t, namespace, &v1alpha1.Failover{Spec: v1alpha1.FailoverRequestSpec{Mode: mode}})
		expect(t, err, http.StatusConflict, "NotMonitored", "no ValkeySentinel selects it")
		_, err = ask(t, namespace, v1alpha1.FailoverRequestSpec{Valkey: "cache", Mode: mode}, metav1.DryRunAll)
		expect(t, err, http.StatusConflict, "NotMonitored", "or set spec.failover.mode to Operator or None")
	}
	if operation := get(t, namespace).Status.Operation; operation != nil {
		t.Errorf("claimed: %+v", operation)
	}
}
