// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package valkeysentinel

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
	sentinel := &api.ValkeySentinel{
		ObjectMeta: metav1.ObjectMeta{Name: "watch", CreationTimestamp: metav1.NewTime(now.Add(-time.Minute))},
		Spec:       api.ValkeySentinelSpec{Replicas: 3, Image: "valkey:8.1"},
		Status: api.ValkeySentinelStatus{
			State: api.StateReady, Reason: "AsExpected", ReadyReplicas: 2,
			Monitors: []api.MonitorStatus{{Name: "a", OK: true}, {Name: "b"}},
		},
	}
	table, err := NewTable(testclock.NewFakePassiveClock(now)).ConvertToTable(context.Background(), sentinel, nil)
	if err != nil {
		t.Fatal(err)
	}
	want := []any{"watch", "Ready", "AsExpected", "2/3", int64(2), "1/2", "60s", "valkey:8.1"}
	if diff := cmp.Diff(want, table.Rows[0].Cells); diff != "" {
		t.Errorf("want (-), got (+):\n%s", diff)
	}
}
