//go:build e2ebench

// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package bench

import (
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/valkeykube/valkeykube/pkg/apis/valkey/v1alpha1"
	"github.com/valkeykube/valkeykube/test/e2e/framework"
)

// churnEvery is how often one of the fleet is changed.
const churnEvery = 200 * time.Millisecond

// What many Valkeys (INSTANCES, or 200) cost the controller while nothing happens and while they are changed, for LENGTH seconds each. Their pods find
// no machine, so that the cost is the controller's and not that of so many servers.
func TestFleet(t *testing.T) {
	e := framework.Connect(t)
	ns := e.Namespace(t, "fleet")
	count, length := framework.Number(t, "INSTANCES", 200), time.Duration(framework.Number(t, "LENGTH", 60))*time.Second
	framework.Fleet(t, ns, count, "{replicas: 0, scheduling: {nodeSelector: {no-such: machine}}}")
	e.WaitFleet(t, ns, "named as unschedulable", count, 10*time.Minute, func(vk *v1alpha1.Valkey) bool {
		return strings.Contains(vk.Status.Message, corev1.PodReasonUnschedulable)
	})
	framework.WaitNothingToWrite(t, 3*time.Minute)
	fmt.Printf("| %d Valkeys | for | CPU of the controller | of a core | its memory | its writes |\n", count)
	measure(t, e, "idle", func() { time.Sleep(length) }) // the idle time itself
	changes := 0
	measure(t, e, "changed", func() {
		next := time.NewTicker(churnEvery)
		defer next.Stop()
		for end := time.Now().Add(length); time.Now().Before(end); changes++ {
			<-next.C
			s := framework.Set{Env: e, Namespace: ns, Name: fmt.Sprintf("fleet-%d", changes%count)}
			s.Patch(t, fmt.Sprintf(`{"spec":{"podAnnotations":{"bench":"%d"}}}`, changes))
		}
	})
	began := time.Now()
	e.WaitFleet(t, ns, "up to date", count, 2*time.Minute, func(vk *v1alpha1.Valkey) bool { return vk.Status.ObservedGeneration == vk.Generation })
	fmt.Printf("\n%d changes; the last was seen %s after it was made\n", changes, time.Since(began).Round(time.Millisecond))
}

// measure prints a row of what the controller uses while something goes on.
func measure(t *testing.T, e *framework.Env, what string, goesOn func()) {
	t.Helper()
	began, before := time.Now(), e.ControllerUsage(t)
	goesOn()
	took, after := time.Since(began), e.ControllerUsage(t)
	used := after.CPU - before.CPU
	fmt.Printf("| %s | %s | %s | %.1f %% | %d MiB | %d |\n", what, took.Round(time.Second), used, 100*used.Seconds()/took.Seconds(), after.KiB/1024,
		len(framework.ControllerWrites(t, began)))
}
