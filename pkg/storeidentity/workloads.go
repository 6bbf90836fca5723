// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package storeidentity

import (
	"context"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	appsv1client "k8s.io/client-go/kubernetes/typed/apps/v1"
)

// Workloads are the StatefulSets that objects of an API group own.
type Workloads struct {
	client   appsv1client.StatefulSetsGetter
	selector string
	group    string
}

var _ Children = (*Workloads)(nil)

// NewWorkloads are those with the labels, in all namespaces, that an object of the group owns.
func NewWorkloads(client appsv1client.StatefulSetsGetter, selector, group string) *Workloads {
	return &Workloads{client: client, selector: selector, group: group}
}

// Any is the first that is found.
func (w *Workloads) Any(ctx context.Context) (string, error) {
	options := metav1.ListOptions{LabelSelector: w.selector, Limit: 100}
	for {
		list, err := w.client.StatefulSets(metav1.NamespaceAll).List(ctx, options)
		if err != nil {
			return "", err
		}
		for i := range list.Items {
			for _, owner := range list.Items[i].OwnerReferences {
				if strings.HasPrefix(owner.APIVersion, w.group+"/") {
					return "StatefulSet " + list.Items[i].Namespace + "/" + list.Items[i].Name + " of " + owner.Kind + " " + owner.Name, nil
				}
			}
		}
		if options.Continue = list.Continue; options.Continue == "" {
			return "", nil
		}
	}
}
