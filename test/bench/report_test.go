// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build integration

package bench

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
)

// use is what operations of one side cost.
type use struct {
	operations int
	latencies  []time.Duration
	cpu        time.Duration
	wire       int64
}

func (u *use) add(other use) {
	u.operations += other.operations
	u.latencies = append(u.latencies, other.latencies...)
	u.cpu += other.cpu
	u.wire += other.wire
}

// percentile is the smallest latency that p of a hundred do not exceed, in milliseconds.
func (u *use) percentile(p int) float64 {
	if len(u.latencies) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(u.latencies))
	return float64(sorted[(len(sorted)*p+99)/100-1]) / float64(time.Millisecond)
}

func (u *use) cpuEach() float64 {
	return float64(u.cpu) / float64(time.Millisecond) / float64(max(u.operations, 1))
}

func (u *use) wireEach() float64 { return float64(u.wire) / 1024 / float64(max(u.operations, 1)) }

// row is one kind of operation on both sides: ours, then the CustomResourceDefinition.
type row struct {
	name, unit string
	of         [2]use
}

// pair is a figure of both sides, and how many times ours the other is.
func pair(ours, rival float64) string {
	ratio := "—"
	if ours > 0 {
		ratio = fmt.Sprintf("%.2f", rival/ours)
	}
	return fmt.Sprintf("%s / %s = %s", figure(ours), figure(rival), ratio)
}

func figure(value float64) string {
	switch {
	case value >= 100:
		return fmt.Sprintf("%.0f", value)
	case value >= 10:
		return fmt.Sprintf("%.1f", value)
	}
	return fmt.Sprintf("%.2f", value)
}

// print writes Markdown tables.
func (b *bench) print(to io.Writer) error {
	var text strings.Builder
	fmt.Fprintf(&text, "\n%d objects on each side. Each cell: aggregated / CRD = how many times the aggregated figure the CRD's is.\n\n", b.objects)
	text.WriteString("| operation | times | p50, ms | p95, ms | server CPU, ms each | on the wire, KiB each |\n| --- | --- | --- | --- | --- | --- |\n")
	for _, r := range b.rows {
		ours, rival := &r.of[0], &r.of[1]
		fmt.Fprintf(&text, "| %s | %d | %s | %s | %s | %s |\n", r.name, ours.operations, pair(ours.percentile(50), rival.percentile(50)),
			pair(ours.percentile(95), rival.percentile(95)), pair(ours.cpuEach(), rival.cpuEach()), pair(ours.wireEach(), rival.wireEach()))
	}
	text.WriteString("\n| what the objects take | aggregated / CRD |\n| --- | --- |\n")
	for _, s := range b.sizes {
		fmt.Fprintf(&text, "| %s | %s |\n", s.name, pair(s.of[0], s.of[1]))
	}
	fmt.Fprintf(&text, "\nOne-minute load of the machine while it ran: %s at the beginning, %s at the end (%d processors).\n", b.loadBefore, load(), processors())
	_, err := io.WriteString(to, text.String())
	return err
}

// size is an amount of something on both sides.
type size struct {
	name string
	of   [2]float64
}
