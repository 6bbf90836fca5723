// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package failover

import (
	"context"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	api "github.com/valkeykube/valkeykube/pkg/apis/valkey"
	tables "github.com/valkeykube/valkeykube/pkg/registry/valkey/resource"
)

var columns = []metav1.TableColumnDefinition{
	tables.NameColumn("What was asked."),
	{Name: "Phase", Type: "string", Description: "Succeeded, InProgress, or Pending in a dry run."},
	{Name: "From", Type: "string", Description: "The node that was primary."},
	{Name: "To", Type: "string", Description: "The node that became primary."},
	{Name: "Coordinated", Type: "boolean", Description: "Whether writes were paused and the new primary had all of them."},
	{Name: "Duration", Type: "string", Description: "From the claim to the new primary's first answer as primary."},
	{Name: "Message", Type: "string", Description: "More about how it went."},
}

// table prints answers.
type table struct{}

// ConvertToTable prints an answer.
func (table) ConvertToTable(_ context.Context, object, options runtime.Object) (*metav1.Table, error) {
	var name string
	var status *api.FailoverRequestStatus
	switch answer := object.(type) {
	case *api.Failover:
		name, status = answer.Name, &answer.Status
	case *api.FailoverRequest:
		name, status = answer.Name, &answer.Status
	default:
		return nil, fmt.Errorf("cannot print a %T", object)
	}
	printed := &metav1.Table{}
	if tableOptions, ok := options.(*metav1.TableOptions); !ok || tableOptions == nil || !tableOptions.NoHeaders {
		printed.ColumnDefinitions = columns
	}
	duration := ""
	if status.Duration != nil {
		duration = status.Duration.Duration.String()
	}
	printed.Rows = []metav1.TableRow{{
		Cells:  []any{name, string(status.Phase), status.From, status.To, status.Coordinated, duration, status.Message},
		Object: runtime.RawExtension{Object: object},
	}}
	return printed, nil
}
