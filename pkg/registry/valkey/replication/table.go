// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package replication

import (
	"context"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	api "github.com/valkeykube/valkeykube/pkg/apis/valkey"
	tables "github.com/valkeykube/valkeykube/pkg/registry/valkey/resource"
)

var columns = []metav1.TableColumnDefinition{
	tables.NameColumn("The ValkeyNode."),
	{Name: "Role", Type: "string", Description: "What the node says it is."},
	{Name: "Replica-Of", Type: "string", Description: "Host and port of the primary that it follows."},
	{Name: "Link", Type: "string", Description: "Of a replica: up, down, or syncing while it receives a copy."},
	{Name: "Synced", Type: "boolean", Description: "Whether it holds what the primary does."},
	{Name: "Offset", Type: "integer", Description: "Position in the replication stream, in bytes."},
	{Name: "Lag", Type: "integer", Description: "How far behind the primary it is, in bytes."},
	{Name: "Keys", Type: "integer", Description: "Keys in all databases."},
	{Name: "Sentinels", Type: "string", Description: "Sentinels that name it as the primary, of all. Empty without Sentinels."},
	{Name: "Error", Type: "string", Description: "Why it did not answer."},
	{Name: "Address", Type: "string", Description: "Host and port of the node.", Priority: 1},
	{Name: "History", Type: "string", Description: "Identifier of the replication history that it holds.", Priority: 1},
}

// ConvertToTable prints an answer, a row for each member.
func (r *REST) ConvertToTable(_ context.Context, object, options runtime.Object) (*metav1.Table, error) {
	answer, ok := object.(*api.Replication)
	if !ok {
		return nil, fmt.Errorf("cannot print a %T", object)
	}
	table := &metav1.Table{}
	if tableOptions, ok := options.(*metav1.TableOptions); !ok || tableOptions == nil || !tableOptions.NoHeaders {
		table.ColumnDefinitions = columns
	}
	for i := range answer.Members {
		member := &answer.Members[i]
		table.Rows = append(table.Rows, metav1.TableRow{
			Cells: cells(member, votes(answer, member)),
			// A row must have an object with a name.
			Object: runtime.RawExtension{Object: &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{
				Name: member.Node, Namespace: answer.Namespace,
			}}},
		})
	}
	return table, nil
}

// cells leave empty what is not known of a member, so that nobody takes it for a zero.
func cells(member *api.ReplicationMember, votes string) []any {
	row := []any{member.Node, string(member.Role), member.ReplicaOf, link(member), nil, nil, nil, nil, votes, member.Error, member.Address, member.ReplicationID}
	if member.Role == api.RoleUnknown {
		return row
	}
	row[4], row[5], row[7] = member.Synced, member.Offset, member.Keys
	if member.Role == api.RoleReplica && member.Synced {
		row[6] = member.LagBytes
	}
	return row
}

func link(member *api.ReplicationMember) string {
	switch {
	case member.Role != api.RoleReplica:
		return ""
	case member.SyncInProgress:
		return "syncing"
	case member.LinkUp:
		return "up"
	}
	return "down"
}

func votes(answer *api.Replication, member *api.ReplicationMember) string {
	if len(answer.Monitors) == 0 {
		return ""
	}
	count := 0
	for i := range answer.Monitors {
		if answer.Monitors[i].Registered && answer.Monitors[i].PrimaryAddress == member.Address {
			count++
		}
	}
	return fmt.Sprintf("%d/%d", count, len(answer.Monitors))
}
