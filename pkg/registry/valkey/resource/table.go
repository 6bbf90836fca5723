// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package resource

import (
	"context"
	"fmt"
	"time"

	autoscalingv1 "k8s.io/api/autoscaling/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/duration"
	"k8s.io/apiserver/pkg/registry/rest"
	"k8s.io/utils/clock"
)

// Column is one column of a table of objects of kind O.
type Column[O any] struct {
	Name        string
	Description string
	// Type is the OpenAPI type of the cells. Default "string".
	Type string
	// Wide columns are shown with -o wide only.
	Wide bool
	Cell func(object O, now time.Time) any
}

// Table prints objects of kind O: their names, then the columns.
type Table[O interface {
	runtime.Object
	metav1.Object
}] struct {
	Columns []Column[O]
	Clock   clock.PassiveClock
}

// NameColumn describes the first column of every table.
func NameColumn(description string) metav1.TableColumnDefinition {
	return metav1.TableColumnDefinition{Name: "Name", Type: "string", Format: "name", Description: description}
}

// ConvertToTable prints one object, or a list of them.
func (t Table[O]) ConvertToTable(_ context.Context, object, options runtime.Object) (*metav1.Table, error) {
	table := &metav1.Table{}
	if !withoutHeaders(options) {
		table.ColumnDefinitions = append(table.ColumnDefinitions, NameColumn(metav1.ObjectMeta{}.SwaggerDoc()["name"]))
		for _, column := range t.Columns {
			table.ColumnDefinitions = append(table.ColumnDefinitions, column.definition())
		}
	}
	addRow := func(item runtime.Object) error {
		typed, ok := item.(O)
		if !ok {
			return fmt.Errorf("cannot print a %T", item)
		}
		table.Rows = append(table.Rows, t.row(typed))
		return nil
	}
	if !meta.IsListType(object) {
		if accessor, err := meta.CommonAccessor(object); err == nil {
			table.ResourceVersion = accessor.GetResourceVersion()
		}
		return table, addRow(object)
	}
	CopyListMeta(object, table)
	return table, meta.EachListItem(object, addRow)
}

func (t Table[O]) row(object O) metav1.TableRow {
	row := metav1.TableRow{Cells: []any{object.GetName()}, Object: runtime.RawExtension{Object: object}}
	for _, column := range t.Columns {
		row.Cells = append(row.Cells, column.Cell(object, t.Clock.Now()))
	}
	return row
}

func (c Column[O]) definition() metav1.TableColumnDefinition {
	definition := metav1.TableColumnDefinition{Name: c.Name, Type: c.Type, Description: c.Description}
	if definition.Type == "" {
		definition.Type = "string"
	}
	if c.Wide {
		definition.Priority = 1
	}
	return definition
}

func withoutHeaders(options runtime.Object) bool {
	tableOptions, ok := options.(*metav1.TableOptions)
	return ok && tableOptions != nil && tableOptions.NoHeaders
}

// CopyListMeta takes over from a list what a client needs to go on from it.
func CopyListMeta(list runtime.Object, table *metav1.Table) {
	accessor, err := meta.ListAccessor(list)
	if err != nil {
		return
	}
	table.ResourceVersion = accessor.GetResourceVersion()
	table.Continue = accessor.GetContinue()
	table.RemainingItemCount = accessor.GetRemainingItemCount()
}

// AgeColumn is the last column of every kind.
func AgeColumn[O interface {
	runtime.Object
	metav1.Object
}]() Column[O] {
	return Column[O]{Name: "Age", Description: metav1.ObjectMeta{}.SwaggerDoc()["creationTimestamp"], Cell: func(object O, now time.Time) any {
		return Age(object.GetCreationTimestamp(), now)
	}}
}

// scaleTable prints a Scale as that of a built-in kind is printed.
func scaleTable(now clock.PassiveClock) rest.TableConvertor {
	count := func(of func(*autoscalingv1.Scale) int32) func(*autoscalingv1.Scale, time.Time) any {
		return func(scale *autoscalingv1.Scale, _ time.Time) any { return int64(of(scale)) }
	}
	return Table[*autoscalingv1.Scale]{Clock: now, Columns: []Column[*autoscalingv1.Scale]{
		{Name: "Desired", Type: "integer", Description: autoscalingv1.ScaleSpec{}.SwaggerDoc()["replicas"],
			Cell: count(func(scale *autoscalingv1.Scale) int32 { return scale.Spec.Replicas })},
		{Name: "Available", Type: "integer", Description: autoscalingv1.ScaleStatus{}.SwaggerDoc()["replicas"],
			Cell: count(func(scale *autoscalingv1.Scale) int32 { return scale.Status.Replicas })},
		AgeColumn[*autoscalingv1.Scale](),
	}}
}

// Age is how long ago something was, as kubectl writes it; "<unknown>" when it is not known.
func Age(since metav1.Time, now time.Time) string {
	if since.IsZero() {
		return "<unknown>"
	}
	return duration.HumanDuration(now.Sub(since.Time))
}

var _ rest.TableConvertor = Table[interface {
	runtime.Object
	metav1.Object
}]{}
