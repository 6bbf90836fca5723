// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package clientgo

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/valkeykube/valkeykube/pkg/apis/valkey/v1alpha1"
	applyv1alpha1 "github.com/valkeykube/valkeykube/pkg/generated/applyconfiguration/valkey/v1alpha1"
	"github.com/valkeykube/valkeykube/pkg/generated/clientset/versioned"
)

// Cache applies a Valkey that the controller fails over. It says nothing about fields it does not name: those stay with
// whoever set them. A field that another manager owns with another value is a conflict, unless force takes it over.
func Cache(ctx context.Context, client versioned.Interface, namespace, name string, replicas int32, force bool) (*v1alpha1.Valkey, error) {
	wanted := applyv1alpha1.Valkey(name, namespace).WithSpec(applyv1alpha1.ValkeySpec().
		WithReplicas(replicas).
		WithFailover(applyv1alpha1.FailoverSpec().WithMode(v1alpha1.FailoverModeOperator)).
		WithConfig(map[string]string{"maxmemory-policy": "allkeys-lru"}))
	return client.ValkeyV1alpha1().Valkeys(namespace).Apply(ctx, wanted, metav1.ApplyOptions{FieldManager: "cache-example", Force: force})
}
