// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package valkey

import (
	"context"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	testclock "k8s.io/utils/clock/testing"

	api "github.com/valkeykube/valkeykube/pkg/apis/valkey"
)

var now = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

func ago(d time.Duration) metav1.Time { return metav1.NewTime(now.Add(-d)) }

func TestTable(t *testing.T) {
	bare := api.Valkey{ObjectMeta: metav1.ObjectMeta{Name: "bare"}}
	whole := api.Valkey{
		ObjectMeta: metav1.ObjectMeta{Name: "whole", CreationTimestamp: ago(3 * time.Hour)},
		Spec:       api.ValkeySpec{Replicas: 2, Image: "valkey:8.1"},
		Status: api.ValkeyStatus{
			State: api.StateDegraded, Reason: "PodsNotReady", Primary: "whole-1", PrimaryAddress: "host:6379",
			ReadyReplicas: 2, SyncedReplicas: 1,
			Monitoring:   &api.MonitoringStatus{Sentinel: "watch", Quorum: 2, AvailableQuorum: 3},
			LastFailover: &api.FailoverRecord{Cause: api.FailoverCauseSentinel, StartedAt: ago(90 * time.Second)},
		},
	}
	list := &api.ValkeyList{
		ListMeta: metav1.ListMeta{ResourceVersion: "5", Continue: "more", RemainingItemCount: new(int64(7))},
		Items:    []api.Valkey{bare, whole},
	}
	table := convert(t, list, nil)
	if table.ResourceVersion != "5" || table.Continue != "more" || *table.RemainingItemCount != 7 {
		t.Errorf("list metadata: %+v", table.ListMeta)
	}
	want := [][]any{
		{"bare", "", "", "", "0/1", "0/0", "", "<unknown>", "", "", "", ""},
		{"whole", "Degraded", "PodsNotReady", "whole-1", "2/3", "1/2", "watch", "3h", "host:6379", "valkey:8.1", "2/3", "90s (Sentinel)"},
	}
	if diff := cmp.Diff(want, cells(table)); diff != "" {
		t.Errorf("want (-), got (+):\n%s", diff)
	}
	var normal, wide []string
	for _, column := range table.ColumnDefinitions {
		if column.Priority == 0 {
			normal = append(normal, column.Name)
		} else {
			wide = append(wide, column.Name)
		}
		if column.Description == "" {
			t.Errorf("column %s has no description", column.Name)
		}
	}
	if diff := cmp.Diff([]string{"Name", "State", "Reason", "Primary", "Ready", "Synced", "Monitored-By", "Age"}, normal); diff != "" {
		t.Errorf("columns: want (-), got (+):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"Address", "Image", "Quorum", "Last-Failover"}, wide); diff != "" {
		t.Errorf("wide columns: want (-), got (+):\n%s", diff)
	}
}

func TestTableOfOneWithoutHeaders(t *testing.T) {
	table := convert(t, &api.Valkey{ObjectMeta: metav1.ObjectMeta{Name: "a", ResourceVersion: "3"}}, &metav1.TableOptions{NoHeaders: true})
	if len(table.ColumnDefinitions) != 0 || len(table.Rows) != 1 || table.ResourceVersion != "3" {
		t.Errorf("got %+v", table)
	}
}

func TestTableOfSomethingElse(t *testing.T) {
	if _, err := NewTable(testclock.NewFakePassiveClock(now)).ConvertToTable(context.Background(), &api.ValkeyNode{}, nil); err == nil {
		t.Error("a ValkeyNode was printed as a Valkey")
	}
}

func convert(t *testing.T, object, options runtime.Object) *metav1.Table {
	t.Helper()
	table, err := NewTable(testclock.NewFakePassiveClock(now)).ConvertToTable(context.Background(), object, options)
	if err != nil {
		t.Fatal(err)
	}
	return table
}

func cells(table *metav1.Table) [][]any {
	var rows [][]any
	for _, row := range table.Rows {
		rows = append(rows, row.Cells)
	}
	return rows
}
