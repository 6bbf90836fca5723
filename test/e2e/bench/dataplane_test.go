//go:build e2ebench

// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package bench

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/valkeykube/valkeykube/pkg/apis/valkey/v1alpha1"
	"github.com/valkeykube/valkeykube/test/e2e/framework"
)

// rollPatience is for six full copies one after the other; the ledger writes for no longer.
const rollPatience = 9 * time.Minute

// versions that are measured.
var versions = []string{"8.0", "8.1", "9.1"}

// runs is how often each thing is done: RUNS, or ten times.
func runs(t *testing.T) int { return framework.Number(t, "RUNS", 10) }

// row prints one row of a table of docs/performance.md.
func row(what string, values []time.Duration, rest ...any) {
	slices.Sort(values)
	at := func(part float64) time.Duration {
		return values[min(len(values)-1, int(part*float64(len(values))))].Round(time.Millisecond)
	}
	fmt.Printf("| %s | %d | %s | %s | %s |", what, len(values), at(0.5), at(0.95), values[len(values)-1].Round(time.Millisecond))
	for _, cell := range rest {
		fmt.Printf(" %v |", cell)
	}
	fmt.Println()
}

func image(version string) string { return "docker.io/valkey/valkey:" + version }

// How long writers wait in a planned hand-over, and what is lost.
func TestHandOver(t *testing.T) {
	e := framework.Connect(t)
	fmt.Println("| planned hand-over under load | runs | longest gap, p50 | p95 | most | acknowledged | lost |")
	for _, version := range versions {
		t.Run(version, func(t *testing.T) {
			ns := e.Namespace(t, "bench")
			s := e.Start(t, ns, framework.Options{Name: "main", Replicas: 2, Mode: v1alpha1.FailoverModeSentinel, Image: image(version)})
			c := e.Client(t, ns)
			var gaps []time.Duration
			acknowledged, lost := 0, 0
			for i := range runs(t) {
				s.WaitAgreed(t)
				sum := s.Planned(t, c, fmt.Sprintf("run%d", i), s.ViaSentinel(), func() { s.Failover(t, v1alpha1.FailoverRequestSpec{}) })
				gaps = append(gaps, time.Duration(sum.MaxGapMillis)*time.Millisecond)
				acknowledged, lost = acknowledged+sum.Acknowledged, lost+sum.Lost
			}
			row(version, gaps, acknowledged, lost)
		})
	}
}

// How long it takes from kubectl apply until a set of three under three Sentinels is Ready.
func TestApplyToReady(t *testing.T) {
	e := framework.Connect(t)
	fmt.Println("| apply to Ready, 1 + 2 with 3 Sentinels | runs | p50 | p95 | most |")
	for _, version := range versions {
		t.Run(version, func(t *testing.T) {
			var took []time.Duration
			for range runs(t) {
				ns := e.Namespace(t, "bench")
				began := time.Now()
				e.Start(t, ns, framework.Options{Name: "main", Replicas: 2, Mode: v1alpha1.FailoverModeSentinel, Image: image(version)})
				took = append(took, time.Since(began))
				e.DeleteNamespace(t, ns, 2*time.Minute)
			}
			row(version, took)
		})
	}
}

// How long a roll of six pods takes with a large dataset in memory alone (MEGABYTES, or 500), and what writers notice.
func TestRollWithALargeDataset(t *testing.T) {
	const perKey = 100_000
	megabytes := framework.Number(t, "MEGABYTES", 500)
	e := framework.Connect(t)
	ns := e.Namespace(t, "bench")
	s := e.Start(t, ns, framework.Options{Name: "main", Replicas: 5, Mode: v1alpha1.FailoverModeSentinel})
	c := e.Client(t, ns)
	if _, err := c.TryFill(t, s.PrimaryAddress(), megabytes*1_000_000/perKey); err != nil {
		t.Fatal(err)
	}
	s.WaitReady(t, 3*time.Minute)
	ledger := c.Ledger(t, "roll", s.ViaSentinel()...)
	began := time.Now()
	s.Patch(t, `{"spec":{"podAnnotations":{"bench":"1"}}}`)
	s.WaitReady(t, rollPatience)
	took := time.Since(began)
	sum := ledger.Close(t, s)
	if sum.Lost != 0 {
		t.Errorf("%d acknowledged writes are lost", sum.Lost)
	}
	fmt.Printf("| roll of 1 + 5 pods with %d MB, no persistence | took | longest gap | acknowledged | lost |\n", megabytes)
	fmt.Printf("| 8.1 | %s | %d ms | %d | %d |\n", took.Round(time.Second), sum.MaxGapMillis, sum.Acknowledged, sum.Lost)
}
