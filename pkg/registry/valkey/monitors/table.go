// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package monitors

import (
	"context"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	api "github.com/valkeykube/valkeykube/pkg/apis/valkey"
	tables "github.com/valkeykube/valkeykube/pkg/registry/valkey/resource"
)

var columns = []metav1.TableColumnDefinition{
	tables.NameColumn("The ValkeySentinel and the monitor."),
	{Name: "Monitor", Type: "string", Description: "Name under which clients ask for the primary."},
	{Name: "Valkey", Type: "string", Description: "The Valkey that is monitored."},
	{Name: "Primary", Type: "string", Description: "Host and port of the primary, as most Sentinels see it."},
	{Name: "Agreed", Type: "boolean", Description: "Whether every Sentinel that answered names the same primary."},
	{Name: "OK", Type: "boolean", Description: "Whether a failover could be agreed on and authorised now."},
	{Name: "Quorum", Type: "integer", Description: "How many Sentinels must agree that the primary is down."},
	{Name: "Registered", Type: "string", Description: "Sentinels that hold the monitor, of all."},
	{Name: "Flags", Type: "string", Description: "What the Sentinels say of the primary."},
}

// printer prints monitors, alone or in a list.
type printer struct{}

// ConvertToTable prints a row for each monitor.
func (printer) ConvertToTable(_ context.Context, object, options runtime.Object) (*metav1.Table, error) {
	table := &metav1.Table{}
	if tableOptions, ok := options.(*metav1.TableOptions); !ok || tableOptions == nil || !tableOptions.NoHeaders {
		table.ColumnDefinitions = columns
	}
	switch printed := object.(type) {
	case *api.Monitor:
		table.ResourceVersion = printed.ResourceVersion
		table.Rows = []metav1.TableRow{row(printed)}
	case *api.MonitorList:
		tables.CopyListMeta(printed, table)
		for i := range printed.Items {
			table.Rows = append(table.Rows, row(&printed.Items[i]))
		}
	default:
		return nil, fmt.Errorf("cannot print a %T", object)
	}
	return table, nil
}

func row(monitor *api.Monitor) metav1.TableRow {
	return metav1.TableRow{
		Cells: []any{
			monitor.Name, monitor.MonitorName, monitor.Valkey, monitor.PrimaryAddress, monitor.Agreed, monitor.OK, int64(monitor.Quorum),
			registered(monitor), flags(monitor),
		},
		Object: runtime.RawExtension{Object: monitor},
	}
}

func registered(monitor *api.Monitor) string {
	count := 0
	for i := range monitor.Views {
		if monitor.Views[i].Registered {
			count++
		}
	}
	return fmt.Sprintf("%d/%d", count, len(monitor.Views))
}

// flags are the first that differ from what is usual, else the usual.
func flags(monitor *api.Monitor) string {
	const usual = "master"
	text := ""
	for i := range monitor.Views {
		switch said := monitor.Views[i].Flags; {
		case said != "" && said != usual:
			return said
		case said != "":
			text = said
		}
	}
	return text
}
