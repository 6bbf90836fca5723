// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package apiserver

import (
	"context"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/valkeykube/valkeykube/pkg/apis/valkey/v1alpha1"
	"github.com/valkeykube/valkeykube/pkg/valkeyclient/valkeytest"
)

// A caller that goes away in the middle leaves no half-done change behind.
func TestFailoverGoesOnWithoutItsCaller(t *testing.T) {
	const namespace = "failover-disconnect"
	set := startSet(t, namespace, v1alpha1.FailoverModeSentinel, 1, 3)
	calling, hangUp := context.WithCancel(t.Context())
	defer hangUp()
	answered := make(chan error, 1)
	go func() {
		_, err := shared.client.ValkeyV1alpha1().Valkeys(namespace).Failover(calling, "cache", &v1alpha1.Failover{}, metav1.CreateOptions{})
		answered <- err
	}()
	claims, err := shared.client.ValkeyV1alpha1().Valkeys(namespace).Watch(t.Context(), metav1.ListOptions{FieldSelector: "metadata.name=cache"})
	if err != nil {
		t.Fatal(err)
	}
	defer claims.Stop()
	for event := range claims.ResultChan() {
		if valkey, ok := event.Object.(*v1alpha1.Valkey); ok && valkey.Status.Operation != nil {
			break
		}
	}
	hangUp()
	if err := <-answered; err == nil {
		t.Fatal("the change was over before the caller could go away")
	}
	valkeytest.Eventually(t, "the end of the claim", func(context.Context) error {
		operation := get(t, namespace).Status.Operation
		if operation.Phase == v1alpha1.OperationSucceeded {
			return nil
		}
		return errNotYet(operation.Phase)
	})
	if !isPrimary(t, set.Nodes[1]) {
		t.Error("the claim says that the replica is primary, and it is not")
	}
}

type errNotYet v1alpha1.OperationPhase

func (e errNotYet) Error() string { return "phase " + string(e) }
