// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package screen

import (
	"fmt"
	"io"
	"strconv"

	"github.com/valkeykube/valkeykube/pkg/apis/valkey/v1alpha1"
)

// Replication prints a row for each member. What is not known of a member stays empty, so that nobody takes it for a zero.
func Replication(w io.Writer, seen *v1alpha1.Replication, p Palette) {
	table := Table{Heading: []string{"NODE", "ROLE", "REPLICA-OF", "LINK", "SYNCED", "OFFSET", "LAG", "KEYS", "SENTINELS", "ERROR"}}
	for i := range seen.Members {
		m := &seen.Members[i]
		table.Row(append(memberCells(seen, m, p), Cell{m.Error, p.Bad})...)
	}
	table.Write(w, "")
}

func memberCells(seen *v1alpha1.Replication, m *v1alpha1.ReplicationMember, p Palette) []any {
	cells := []any{m.Node, roleCell(m.Role, m.Node == seen.Primary, p), m.ReplicaOf, linkCell(m, p), "", "", "", "", votes(seen, m)}
	if m.Role == v1alpha1.RoleUnknown {
		return cells
	}
	cells[4], cells[5], cells[7] = yesNo(m.Synced, p), strconv.FormatInt(m.Offset, 10), strconv.FormatInt(m.Keys, 10)
	if m.Role == v1alpha1.RoleReplica && m.Synced {
		cells[6] = strconv.FormatInt(m.LagBytes, 10)
	}
	return cells
}

func roleCell(role v1alpha1.Role, isPrimary bool, p Palette) Cell {
	switch {
	case role == v1alpha1.RoleUnknown:
		return Cell{string(role), p.Bad}
	case role == v1alpha1.RolePrimary && isPrimary:
		return Cell{string(role), p.Bold}
	case role == v1alpha1.RolePrimary: // a second one
		return Cell{string(role), p.Bad}
	}
	return Cell{Text: string(role)}
}

func linkCell(m *v1alpha1.ReplicationMember, p Palette) Cell {
	switch {
	case m.Role != v1alpha1.RoleReplica:
		return Cell{}
	case m.SyncInProgress:
		return Cell{"syncing", p.Doubtful}
	case m.LinkUp:
		return Cell{"up", p.Good}
	}
	return Cell{"down", p.Bad}
}

// votes are the Sentinels that name a member as the primary, of all; empty without Sentinels.
func votes(seen *v1alpha1.Replication, m *v1alpha1.ReplicationMember) string {
	if len(seen.Monitors) == 0 {
		return ""
	}
	count := 0
	for i := range seen.Monitors {
		if seen.Monitors[i].Registered && seen.Monitors[i].PrimaryAddress == m.Address {
			count++
		}
	}
	return fmt.Sprintf("%d/%d", count, len(seen.Monitors))
}

func yesNo(yes bool, p Palette) Cell {
	if yes {
		return Cell{"yes", p.Good}
	}
	return Cell{"no", p.Bad}
}

// MonitorsHeading is that of the rows of MonitorRow.
var MonitorsHeading = []string{"NAME", "MONITOR", "VALKEY", "PRIMARY", "AGREED", "OK", "QUORUM", "REGISTERED"}

// MonitorRow adds the row of a monitor.
func MonitorRow(table *Table, m *v1alpha1.Monitor, p Palette) {
	registered := 0
	for i := range m.Views {
		if m.Views[i].Registered {
			registered++
		}
	}
	table.Row(m.Name, m.MonitorName, m.Valkey, m.PrimaryAddress, yesNo(m.Agreed, p), yesNo(m.OK, p), m.Quorum,
		fmt.Sprintf("%d/%d", registered, len(m.Views)))
}

// Monitors prints a row for each monitor and, if each is set, below it what each Sentinel says.
func Monitors(w io.Writer, list *v1alpha1.MonitorList, each bool, p Palette) {
	if !each {
		table := Table{Heading: MonitorsHeading}
		for i := range list.Items {
			MonitorRow(&table, &list.Items[i], p)
		}
		table.Write(w, "")
		return
	}
	for i := range list.Items {
		if i > 0 {
			_, _ = fmt.Fprintln(w)
		}
		table := Table{Heading: MonitorsHeading}
		MonitorRow(&table, &list.Items[i], p)
		table.Write(w, "")
		views(w, list.Items[i].Views, p)
	}
}

// views prints what each Sentinel says of one monitor.
func views(w io.Writer, seen []v1alpha1.MonitorView, p Palette) {
	table := Table{Heading: []string{"POD", "REGISTERED", "PRIMARY", "FLAGS", "QUORUM", "REPLICAS", "OTHERS", "EPOCH", "FAILOVER", "SAYS"}}
	for i := range seen {
		v := &seen[i]
		if v.Error != "" {
			table.Row(v.Pod, "", "", "", "", "", "", "", "", Cell{v.Error, p.Bad})
			continue
		}
		if !v.Registered {
			table.Row(v.Pod, yesNo(false, p))
			continue
		}
		flags := Cell{Text: v.Flags}
		if v.Flags != "master" {
			flags.Paint = p.Doubtful
		}
		says := Cell{Text: v.QuorumMessage}
		table.Row(v.Pod, yesNo(true, p), v.PrimaryAddress, flags, v.Quorum, v.Replicas, v.OtherSentinels, v.ConfigEpoch, Cell{v.FailoverState, p.Doubtful}, says)
	}
	table.Write(w, "  ")
}
