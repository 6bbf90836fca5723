// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package valkeynode

import (
	"context"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	testclock "k8s.io/utils/clock/testing"

	api "github.com/valkeykube/valkeykube/pkg/apis/valkey"
)

func TestTable(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	node := &api.ValkeyNode{
		ObjectMeta: metav1.ObjectMeta{Name: "v-1", CreationTimestamp: metav1.NewTime(now.Add(-time.Minute))},
		Spec:       api.ValkeyNodeSpec{Valkey: "v", Image: "valkey:8.1"},
		Status: api.ValkeyNodeStatus{
			Ready: true, Role: api.RoleReplica, ReplicaOf: "host:6379", PodName: "valkey-v-1-0", PodIP: "10.0.0.1",
		},
	}
	table, err := NewTable(testclock.NewFakePassiveClock(now)).ConvertToTable(context.Background(), node, nil)
	if err != nil {
		t.Fatal(err)
	}
	want := []any{"v-1", true, "replica", "host:6379", "valkey-v-1-0", "10.0.0.1", "60s", "v", "valkey:8.1"}
	if diff := cmp.Diff(want, table.Rows[0].Cells); diff != "" {
		t.Errorf("want (-), got (+):\n%s", diff)
	}
}
