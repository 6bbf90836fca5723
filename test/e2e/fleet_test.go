//go:build e2e

// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/valkeykube/valkeykube/pkg/apis/valkey/v1alpha1"
	"github.com/valkeykube/valkeykube/test/e2e/framework"
)

// K3: Valkeys whose pods find no machine hold up no other one, and take no memory while they wait.
func TestK3PendingFleet(t *testing.T) {
	e := framework.Connect(t)
	ns := e.Namespace(t, "pending")
	const count = 100
	framework.Fleet(t, ns, count, "{replicas: 0, scheduling: {nodeSelector: {no-such: machine}}}")
	e.WaitFleet(t, ns, "named as unschedulable", count, 5*time.Minute, func(vk *v1alpha1.Valkey) bool {
		return strings.Contains(vk.Status.Message, corev1.PodReasonUnschedulable)
	})
	before := e.ControllerUsage(t).KiB
	other := e.Namespace(t, "beside")
	began := time.Now()
	e.Start(t, other, framework.Options{Name: "main", Replicas: 1, Mode: v1alpha1.FailoverModeOperator})
	if took := time.Since(began); took > 45*time.Second {
		t.Errorf("beside %d that wait, a Valkey is ready after %s", count, took)
	}
	time.Sleep(time.Minute) // the waiting itself
	after := e.ControllerUsage(t).KiB
	t.Logf("resident memory of the controller beside %d pending Valkeys: %d KiB, a minute later %d KiB", count, before, after)
	if after > before*5/4 {
		t.Errorf("the controller's memory grew from %d to %d KiB while nothing happened", before, after)
	}
}
