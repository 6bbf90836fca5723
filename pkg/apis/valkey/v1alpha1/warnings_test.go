// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestUnwiseQuorum(t *testing.T) {
	for _, c := range []struct {
		quorum, sentinels int32
		want              string
	}{
		{2, 3, ""}, {3, 3, ""}, {3, 5, ""}, {3, 4, ""},
		{1, 3, "a quorum of 1 is no majority of 3: so few may be wrong about the primary"},
		{2, 4, "a quorum of 2 is no majority of 4: so few may be wrong about the primary"},
		{4, 3, "a quorum of 4 is more than the 3 there are: no failover can be agreed on"},
	} {
		if got := UnwiseQuorum(c.quorum, c.sentinels); got != c.want {
			t.Errorf("%d of %d: got %q, want %q", c.quorum, c.sentinels, got, c.want)
		}
	}
}

func TestNoWarningsAboutTheNodesOfAValkey(t *testing.T) {
	isController := true
	node := decoded(t, &ValkeyNode{}, `spec: {config: {port: "1"}}`)
	node.OwnerReferences = []metav1.OwnerReference{{Name: "v", Controller: &isController}}
	if got := ValkeyNodeWarnings(node); got != nil {
		t.Errorf("warned: %v", got)
	}
}
