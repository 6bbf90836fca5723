// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package sentinel

import (
	"testing"

	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/valkeykube/valkeykube/pkg/apis/valkey/v1alpha1"
	"github.com/valkeykube/valkeykube/pkg/naming"
	"github.com/valkeykube/valkeykube/pkg/valkeyclient/valkeytest"
)

// setPolicy asks for a policy, or for none.
func (c *cluster) setPolicy(enabled bool) {
	c.t.Helper()
	set := c.set()
	set.Spec.Networking.NetworkPolicy = &v1alpha1.NetworkPolicySpec{Enabled: enabled}
	set.Generation++
	if err := c.kube.Update(c.t.Context(), set); err != nil {
		c.t.Fatal(err)
	}
	c.pass()
}

func TestANetworkPolicyOfSomebodyElseIsLeftAlone(t *testing.T) {
	c := startCluster(t, valkeytest.Default(t), 3)
	theirs := &networkingv1.NetworkPolicy{ObjectMeta: metav1.ObjectMeta{Namespace: testNamespace, Name: naming.SentinelWorkload(testSet)}}
	c.create(theirs)
	c.setPolicy(true)
	degraded := meta.FindStatusCondition(c.set().Status.Conditions, v1alpha1.ConditionDegraded)
	if degraded == nil || degraded.Reason != v1alpha1.ReasonForeignObject {
		t.Errorf("Degraded is %+v", degraded)
	}
	if told := c.told(v1alpha1.EventForeignObject); len(told) != 1 {
		t.Errorf("events: %v", told)
	}
	c.setPolicy(false)
	if err := c.kube.Get(t.Context(), client.ObjectKeyFromObject(theirs), theirs); err != nil || len(theirs.OwnerReferences) > 0 || len(theirs.Spec.Ingress) > 0 {
		t.Errorf("their policy was changed: %+v, %v", theirs, err)
	}
}
