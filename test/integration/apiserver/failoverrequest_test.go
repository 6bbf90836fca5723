// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package apiserver

import (
	"net/http"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/valkeykube/valkeykube/pkg/apis/valkey/v1alpha1"
)

func ask(t *testing.T, namespace string, spec v1alpha1.FailoverRequestSpec, dryRun ...string) (*v1alpha1.FailoverRequest, error) {
	t.Helper()
	return shared.client.ValkeyV1alpha1().FailoverRequests(namespace).Create(t.Context(), &v1alpha1.FailoverRequest{Spec: spec}, metav1.CreateOptions{DryRun: dryRun})
}

func TestFailoverRequest(t *testing.T) {
	const namespace = "failover-request"
	set := startSet(t, namespace, v1alpha1.FailoverModeOperator, 2, 0)

	answer, err := ask(t, namespace, v1alpha1.FailoverRequestSpec{Valkey: "cache"}, metav1.DryRunAll)
	if err != nil || answer.Status.Phase != v1alpha1.OperationPending || answer.Status.From != "cache-0" {
		t.Errorf("dry run: %v, %+v", err, answer)
	}
	if get(t, namespace).Status.Operation != nil || !isPrimary(t, set.Nodes[0]) {
		t.Error("a dry run changed something")
	}

	uid, otherUID := get(t, namespace).UID, types.UID("another")
	for name, c := range map[string]struct {
		spec  v1alpha1.FailoverRequestSpec
		code  int32
		cause metav1.CauseType
		text  string
	}{
		"no Valkey":             {v1alpha1.FailoverRequestSpec{}, http.StatusUnprocessableEntity, metav1.CauseTypeFieldValueRequired, "spec.valkey"},
		"an unknown Valkey":     {v1alpha1.FailoverRequestSpec{Valkey: "other"}, http.StatusNotFound, "", `valkeys.valkey.io "other" not found`},
		"an impossible timeout": {v1alpha1.FailoverRequestSpec{Valkey: "cache", TimeoutSeconds: 31}, http.StatusUnprocessableEntity, metav1.CauseTypeFieldValueInvalid, "spec.timeoutSeconds"},
		"an unknown mode":       {v1alpha1.FailoverRequestSpec{Valkey: "cache", Mode: "Gentle"}, http.StatusUnprocessableEntity, metav1.CauseTypeFieldValueNotSupported, "spec.mode"},
		"another UID":           {v1alpha1.FailoverRequestSpec{Valkey: "cache", Preconditions: &v1alpha1.FailoverPreconditions{UID: &otherUID}}, http.StatusConflict, "PreconditionFailed", "another"},
		"the primary itself":    {v1alpha1.FailoverRequestSpec{Valkey: "cache", To: "cache-0"}, http.StatusConflict, "IsPrimary", "cache-0"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := ask(t, namespace, c.spec)
			expect(t, err, c.code, c.cause, c.text)
		})
	}

	table := &metav1.Table{}
	request := &v1alpha1.FailoverRequest{Spec: v1alpha1.FailoverRequestSpec{Valkey: "cache", To: "cache-2", Preconditions: &v1alpha1.FailoverPreconditions{UID: &uid}}}
	err = shared.client.ValkeyV1alpha1().RESTClient().Post().Namespace(namespace).Resource("failoverrequests").
		SetHeader("Accept", asTable).Body(request).Do(t.Context()).Into(table)
	if err != nil {
		t.Fatal(err)
	}
	if len(table.Rows) != 1 || len(table.ColumnDefinitions) != len(table.Rows[0].Cells) {
		t.Fatalf("table %+v", table)
	}
	if cells := table.Rows[0].Cells; cells[0] != "cache" || cells[1] != "Succeeded" || cells[2] != "cache-0" || cells[3] != "cache-2" || cells[4] != true || cells[5] == "" {
		t.Errorf("row %v", cells)
	}
	if !isPrimary(t, set.Nodes[2]) {
		t.Error("cache-2 is not primary")
	}
	if operation := get(t, namespace).Status.Operation; operation == nil || operation.Phase != v1alpha1.OperationSucceeded || operation.To != "cache-2" {
		t.Errorf("operation %+v", operation)
	}
}
