// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package screen

import (
	"cmp"
	"fmt"
	"io"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/valkeykube/valkeykube/pkg/agent/probe"
)

// BootReport is what the agent of a pod says, or why it could not be asked.
type BootReport struct {
	Pod    string        `json:"pod"`
	Report *probe.Report `json:"report,omitempty"`
	Error  string        `json:"error,omitempty"`
}

// Boot prints a paragraph for each agent: what it decided, by which rule and why, and what it sees now.
func Boot(w io.Writer, reports []BootReport, now time.Time, p Palette) {
	for i, r := range reports {
		if i > 0 {
			_, _ = fmt.Fprintln(w)
		}
		if r.Report == nil {
			_, _ = fmt.Fprintf(w, "%s  %s\n", p.Bold("Pod "+r.Pod), p.Bad(r.Error))
			continue
		}
		_, _ = fmt.Fprintf(w, "%s  %s%s\n", p.Bold("Pod "+r.Pod), phase(r.Report, p), since(r.Report.Since, now))
		table := &Table{}
		if r.Report.Version != "" {
			table.Row("Agent", r.Report.Version)
		}
		if r.Report.Node != nil {
			nodeFacts(table, r.Report.Node, now, p)
		}
		if r.Report.Sentinel != nil {
			sentinelFacts(table, r.Report.Sentinel)
		}
		table.Write(w, "  ")
	}
}

func since(t, now time.Time) string {
	if t.IsZero() {
		return ""
	}
	return " for " + age(metav1.Time{Time: t}, now)
}

func phase(r *probe.Report, p Palette) string {
	if r.Phase == probe.PhaseRunning {
		return p.Good(string(r.Phase))
	}
	return p.Doubtful(string(r.Phase))
}

func nodeFacts(table *Table, n *probe.Node, now time.Time, p Palette) {
	d := n.Decision
	decided := fmt.Sprintf("%s by rule %s after %.1f s", d.Action, d.Code, d.After)
	if d.Primary != "" {
		decided += ", following " + d.Primary
	}
	if d.Ask != "" {
		decided += fmt.Sprintf("; asked for %s of %s", d.Ask, d.Target)
	}
	table.Row("Decision", decided)
	table.Row("Because", d.Reason)
	if n.Named != "" {
		table.Row("Primary named", fmt.Sprintf("%s, by %s", n.Named, n.Source))
	}
	data := "none"
	if n.HasData {
		data = "yes"
	}
	table.Row("Data", data)
	if n.Position.ReplID != "" {
		text := fmt.Sprintf("%s:%d", n.Position.ReplID, n.Position.Offset)
		if len(n.Position.History) > 0 {
			text += ", before that " + strings.Join(n.Position.History, ", ")
		}
		table.Row("Position", text)
	}
	if n.StandsBack {
		table.Row("Stands back", Cell{"yes: it is not promoted while others hold data", p.Doubtful})
	}
	if n.Fence != nil {
		table.Row("Refuses writes", Cell{fmt.Sprintf("since %s: %s", age(metav1.Time{Time: n.Fence.Since}, now), n.Fence.Reason), p.Bad})
	}
	if r := n.Running; r != nil {
		text := fmt.Sprintf("%s, %d keys, seen %s", r.Role, r.Keys, ago(metav1.Time{Time: r.Seen}, now))
		if r.Follows != "" {
			text += ", follows " + r.Follows + map[bool]string{true: ", link up", false: ", link down"}[r.LinkUp]
		}
		if r.Loading {
			text += ", loading"
		}
		table.Row("Server", text)
	}
}

func sentinelFacts(table *Table, s *probe.Sentinel) {
	table.Row("Id", s.MyID)
	table.Row("Current epoch", s.CurrentEpoch)
	row := func(what string, monitors []probe.Monitor) {
		for _, m := range monitors {
			table.Row(what, fmt.Sprintf("%s at %s:%d, epoch %d", m.Name, cmp.Or(m.Host, "?"), m.Port, m.ConfigEpoch))
		}
	}
	row("Monitors", s.Monitors)
	row("Proposed", s.Proposed)
	row("Settled", s.Settled)
}
