// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package screen

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/duration"

	"github.com/valkeykube/valkeykube/pkg/apis/valkey/v1alpha1"
	"github.com/valkeykube/valkeykube/pkg/plugin/cluster"
)

// Summary prints a row for each Valkey, by what is on record.
func Summary(w io.Writer, list *v1alpha1.ValkeyList, now time.Time, p Palette) {
	table := Table{Heading: []string{"NAME", "STATE", "REASON", "MODE", "PRIMARY", "READY", "SYNCED", "SENTINELS", "LAST-FAILOVER", "AGE"}}
	for i := range list.Items {
		v := &list.Items[i]
		last := ""
		if v.Status.LastFailover != nil {
			last = ago(v.Status.LastFailover.StartedAt, now)
		}
		table.Row(v.Name, stateCell(v.Status.State, p), v.Status.Reason, string(v.Spec.Failover.Mode), v.Status.Primary,
			fmt.Sprintf("%d/%d", v.Status.ReadyReplicas, v.Spec.Replicas+1), fmt.Sprintf("%d/%d", v.Status.SyncedReplicas, v.Spec.Replicas),
			monitoredBy(v.Status.Monitoring), last, age(v.CreationTimestamp, now))
	}
	table.Write(w, "")
}

func monitoredBy(m *v1alpha1.MonitoringStatus) string {
	if m == nil || m.Sentinel == "" {
		return ""
	}
	return fmt.Sprintf("%s (%d usable, quorum %d)", m.Sentinel, m.AvailableQuorum, m.Quorum)
}

func stateCell(state v1alpha1.State, p Palette) Cell {
	paint := p.Doubtful
	switch state {
	case v1alpha1.StateReady:
		paint = p.Good
	case v1alpha1.StateFailed, v1alpha1.StateDegraded:
		paint = p.Bad
	}
	return Cell{string(state), paint}
}

func ago(t metav1.Time, now time.Time) string {
	if t.IsZero() {
		return ""
	}
	return age(t, now) + " ago"
}

func age(t metav1.Time, now time.Time) string {
	if t.IsZero() {
		return ""
	}
	return duration.HumanDuration(now.Sub(t.Time))
}

// Status prints the one screen about a Valkey.
func Status(w io.Writer, seen *cluster.Overview, now time.Time, p Palette) {
	v := seen.Valkey
	state := stateCell(v.Status.State, p)
	_, _ = fmt.Fprintf(w, "%s  %s", p.Bold("Valkey "+v.Namespace+"/"+v.Name), state.Paint(cmp.Or(state.Text, "unknown")))
	if reason := strings.TrimSpace(v.Status.Reason + ": " + v.Status.Message); v.Status.Reason != "" {
		_, _ = fmt.Fprintf(w, "  %s", strings.TrimSuffix(reason, ":"))
	}
	_, _ = fmt.Fprintln(w)
	facts(seen, now, p).Write(w, "  ")
	section(w, "MEMBERS", p)
	members(w, seen, p)
	if m := v.Status.Monitoring; m != nil && m.Sentinel != "" {
		section(w, "SENTINELS", p)
		sentinels(w, seen, p)
	}
	section(w, "CONDITIONS", p)
	conditions(w, v.Status.Conditions, now, p)
	if len(seen.Unknown) > 0 {
		section(w, "COULD NOT BE ASKED", p)
		for _, text := range seen.Unknown {
			_, _ = fmt.Fprintln(w, "  "+p.Bad(text))
		}
	}
}

func section(w io.Writer, title string, p Palette) { _, _ = fmt.Fprintf(w, "\n%s\n", p.Bold(title)) }

func facts(seen *cluster.Overview, now time.Time, p Palette) *Table {
	v, table := seen.Valkey, &Table{}
	table.Row("Failover", fmt.Sprintf("mode %s, %d replicas", v.Spec.Failover.Mode, v.Spec.Replicas))
	table.Row("Image", v.Spec.Image)
	table.Row("Age", age(v.CreationTimestamp, now))
	switch primary := primaryOf(seen); {
	case primary == "":
		table.Row("Primary", Cell{"none", p.Bad})
	case primary != v.Status.Primary:
		table.Row("Primary", Cell{fmt.Sprintf("%s (on record: %s)", primary, cmp.Or(v.Status.Primary, "none")), p.Doubtful})
	default:
		table.Row("Primary", primary+"  "+v.Status.PrimaryAddress)
	}
	if text := encryption(v, p); text.Text != "" {
		table.Row("TLS", text)
	}
	if o := v.Status.Operation; o != nil && o.Phase != v1alpha1.OperationSucceeded {
		text := fmt.Sprintf("%s %s, %s to %s, by %s, %s", o.Type, o.Phase, o.From, cmp.Or(o.To, "any"), cmp.Or(o.RequestedBy, "unknown"), ago(o.StartedAt, now))
		if o.Message != "" {
			text += ": " + o.Message
		}
		table.Row("Operation", Cell{text, p.Doubtful})
	}
	if f := v.Status.LastFailover; f != nil {
		text := fmt.Sprintf("%s to %s, %s, %s", cmp.Or(f.From, "nobody"), f.To, f.Cause, ago(f.StartedAt, now))
		if f.Duration != nil {
			text += ", took " + f.Duration.Duration.String()
		}
		table.Row("Last failover", text)
	} else {
		table.Row("Last failover", "none")
	}
	return table
}

// encryption is what is on record about TLS; empty where nothing has or asks for it.
func encryption(v *v1alpha1.Valkey, p Palette) Cell {
	c := meta.FindStatusCondition(v.Status.Conditions, v1alpha1.ConditionEncrypted)
	switch {
	case c == nil && v.Spec.Networking.TLS.IsOn():
		return Cell{"asked for, nothing on record yet", p.Doubtful}
	case c == nil:
		return Cell{}
	case c.Status == metav1.ConditionTrue:
		return Cell{"alone", p.Good}
	}
	text := "not alone: " + c.Reason
	if c.Message != "" {
		text += ", " + c.Message
	}
	return Cell{text, p.Doubtful}
}

// primaryOf is what the members say; where nobody could be asked, what is on record.
func primaryOf(seen *cluster.Overview) string {
	if seen.Replication != nil {
		return seen.Replication.Primary
	}
	return seen.Valkey.Status.Primary
}

func members(w io.Writer, seen *cluster.Overview, p Palette) {
	table := Table{Heading: []string{"NODE", "ROLE", "LINK", "SYNCED", "OFFSET", "LAG", "KEYS", "SENTINELS", "POD", "READY", "RESTARTS", "MACHINE", "ERROR"}}
	pods := map[string]cluster.Pod{}
	for _, pod := range seen.Pods {
		if pod.Node != "" {
			pods[pod.Node] = pod
		}
	}
	if seen.Replication != nil {
		for i := range seen.Replication.Members {
			m := &seen.Replication.Members[i]
			cells := memberCells(seen.Replication, m, p)
			cells = append(slices.Delete(cells, 2, 3), podCells(pods[m.Node], p)...) // whom it follows is the primary, or in the error
			delete(pods, m.Node)
			table.Row(append(cells, Cell{cmp.Or(m.Error, astray(seen.Replication, m)), p.Bad})...)
		}
	} else {
		for i := range seen.Valkey.Status.Members {
			m := &seen.Valkey.Status.Members[i]
			cells := []any{m.Node, string(m.Role), "", "", "", "", "", ""}
			table.Row(append(append(cells, podCells(pods[m.Node], p)...), Cell{m.Reason, p.Bad})...)
			delete(pods, m.Node)
		}
	}
	for _, pod := range seen.Pods { // those that are no members yet, or any more
		if _, left := pods[pod.Node]; left {
			table.Row(append([]any{pod.Node, "", "", "", "", "", "", ""}, podCells(pod, p)...)...)
		}
	}
	table.Write(w, "  ")
}

// astray says whom a replica follows, where that is not the primary.
func astray(seen *v1alpha1.Replication, m *v1alpha1.ReplicationMember) string {
	if m.Role != v1alpha1.RoleReplica || seen.Primary == "" {
		return ""
	}
	for i := range seen.Members {
		if seen.Members[i].Node == seen.Primary && seen.Members[i].Address == m.ReplicaOf {
			return ""
		}
	}
	return "follows " + cmp.Or(m.ReplicaOf, "nobody")
}

func podCells(pod cluster.Pod, p Palette) []any {
	if pod.Name == "" {
		return []any{"", "", "", ""}
	}
	ready := yesNo(pod.Ready, p)
	if pod.Phase != "Running" {
		ready = Cell{pod.Phase, p.Doubtful}
	}
	return []any{pod.Name, ready, pod.Restarts, pod.Machine}
}

func sentinels(w io.Writer, seen *cluster.Overview, p Palette) {
	status := seen.Valkey.Status.Monitoring
	_, _ = fmt.Fprintf(w, "  %s, monitor %s, quorum %d, %d usable", status.Sentinel, status.MonitorName, status.Quorum, status.AvailableQuorum)
	if m := seen.Monitor; m != nil {
		able := p.Good("yes")
		if !m.OK {
			able = p.Bad("no")
		}
		_, _ = fmt.Fprintf(w, "; a failover could be authorised: %s", able)
	}
	if len(status.Conflicting) > 0 {
		_, _ = fmt.Fprintf(w, "; also selected by %s", p.Doubtful(strings.Join(status.Conflicting, ", ")))
	}
	_, _ = fmt.Fprintln(w)
	if seen.Monitor != nil {
		views(w, seen.Monitor.Views, p)
	}
	table, odd := Table{Heading: []string{"POD", "READY", "RESTARTS", "MACHINE"}}, false
	for _, pod := range seen.Pods {
		if pod.Node == "" && (!pod.Ready || pod.Restarts > 0) {
			odd = true
			table.Row(podCells(pod, p)...)
		}
	}
	if odd {
		table.Write(w, "  ")
	}
}

func conditions(w io.Writer, list []metav1.Condition, now time.Time, p Palette) {
	table := Table{Heading: []string{"TYPE", "STATUS", "REASON", "SINCE", "MESSAGE"}}
	for _, c := range list {
		table.Row(c.Type, Cell{string(c.Status), conditionPaint(c, p)}, c.Reason, age(c.LastTransitionTime, now), c.Message)
	}
	table.Write(w, "  ")
}

// conditionPaint knows of which conditions True is the bad one.
func conditionPaint(c metav1.Condition, p Palette) func(string) string {
	bad := c.Type == v1alpha1.ConditionDegraded || c.Type == v1alpha1.ConditionConfigurationWarning
	switch {
	case c.Status == metav1.ConditionUnknown:
		return p.Doubtful
	case c.Type == v1alpha1.ConditionProgressing:
		return p.Faint
	case bad == (c.Status == metav1.ConditionTrue):
		return p.Bad
	}
	return p.Good
}
