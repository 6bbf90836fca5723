// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package apiserver

import (
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/valkeykube/valkeykube/pkg/apis/valkey/v1alpha1"
)

func TestMonitors(t *testing.T) {
	const namespace = "monitors"
	set := startSet(t, namespace, v1alpha1.FailoverModeSentinel, 1, 3)
	list, err := shared.client.ValkeyV1alpha1().ValkeySentinels(namespace).GetMonitors(t.Context(), "watch", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if len(list.Items) != 1 || len(list.Sentinels) != 3 || list.ObservedAt.IsZero() {
		t.Fatalf("got %+v", list)
	}
	monitor := list.Items[0]
	if monitor.Name != "watch.cache" || monitor.MonitorName != "cache" || monitor.Sentinel != "watch" || monitor.Namespace != namespace || monitor.Valkey != "cache" || monitor.PrimaryAddress != set.Nodes[0].Address.String() || !monitor.Agreed || !monitor.OK || monitor.Quorum != 2 || len(monitor.Views) != 3 {
		t.Errorf("got %+v", monitor)
	}

	table := &metav1.Table{}
	request := shared.client.ValkeyV1alpha1().RESTClient().Get().Namespace(namespace).Resource("valkeysentinels").Name("watch").SubResource("monitors")
	if err := request.SetHeader("Accept", "application/json;as=Table;g=meta.k8s.io;v=v1").Do(t.Context()).Into(table); err != nil {
		t.Fatal(err)
	}
	want := []any{"watch.cache", "cache", "cache", set.Nodes[0].Address.String(), true, true, int64(2), "3/3", "master"}
	if len(table.Rows) != 1 {
		t.Fatalf("%d rows", len(table.Rows))
	}
	if diff := cmp.Diff(want, table.Rows[0].Cells); diff != "" {
		t.Errorf("want (-), got (+):\n%s", diff)
	}
}

func TestMonitorsWhileSentinelsAreAway(t *testing.T) {
	const namespace = "monitors-away"
	set := startSet(t, namespace, v1alpha1.FailoverModeSentinel, 1, 3)
	set.Sentinels[1].Kill()
	list, err := shared.client.ValkeyV1alpha1().ValkeySentinels(namespace).GetMonitors(t.Context(), "watch", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if list.Sentinels[1].Error == "" || list.Sentinels[0].Error != "" || len(list.Items) != 1 || list.Items[0].Views[1].Registered {
		t.Errorf("got %+v", list)
	}

	set.Sentinels[0].Kill()
	set.Sentinels[2].Kill()
	var failed error
	// The last answer is given again for a second.
	for failed == nil {
		failed = shared.client.ValkeyV1alpha1().RESTClient().Get().Namespace(namespace).Resource("valkeysentinels").Name("watch").
			SubResource("monitors").MaxRetries(0).Do(t.Context()).Error()
	}
	var status *apierrors.StatusError
	if !errors.As(failed, &status) || status.ErrStatus.Code != http.StatusServiceUnavailable || status.ErrStatus.Details.RetryAfterSeconds == 0 {
		t.Fatalf("got %v", failed)
	}
	if causes := status.ErrStatus.Details.Causes; len(causes) != 3 || !strings.HasPrefix(causes[0].Message, "valkey-sentinel-watch-0: Unreachable") {
		t.Errorf("causes %+v", causes)
	}
	if _, err := shared.client.ValkeyV1alpha1().ValkeySentinels(namespace).GetMonitors(t.Context(), "missing", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("a ValkeySentinel that does not exist: %v", err)
	}
}
