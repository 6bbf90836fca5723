// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package remembered_test

import (
	"testing"

	"k8s.io/apimachinery/pkg/types"

	"github.com/valkeykube/valkeykube/pkg/controller/remembered"
)

func TestNothingIsRememberedOfAnEarlierObject(t *testing.T) {
	var of remembered.Of[int]
	key := types.NamespacedName{Namespace: "ns", Name: "a"}
	if what, known := of.Recall(key, "1"); known || what != 0 {
		t.Errorf("remembered %d before anything was", what)
	}
	of.Remember(key, "1", 7)
	if what, known := of.Recall(key, "1"); !known || what != 7 {
		t.Errorf("got %d, %t", what, known)
	}
	if what, known := of.Recall(key, "2"); known || what != 0 {
		t.Errorf("another object of the name got %d", what)
	}
	of.Forget(key)
	if _, known := of.Recall(key, "1"); known {
		t.Error("not forgotten")
	}
}
