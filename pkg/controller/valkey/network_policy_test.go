// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package valkey

import (
	"strings"
	"testing"
	"time"

	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/valkeykube/valkeykube/pkg/apis/valkey/v1alpha1"
	"github.com/valkeykube/valkeykube/pkg/naming"
)

func withPolicy(enabled bool) func(*v1alpha1.ValkeySpec) {
	return func(spec *v1alpha1.ValkeySpec) {
		spec.Networking.NetworkPolicy = &v1alpha1.NetworkPolicySpec{Enabled: enabled}
	}
}

func TestANetworkPolicyOfSomebodyElseIsLeftAlone(t *testing.T) {
	l := newLab(t)
	theirs := &networkingv1.NetworkPolicy{ObjectMeta: metav1.ObjectMeta{Name: naming.ValkeyNetworkPolicy(testName), Namespace: testNamespace}}
	l.create(theirs)
	l.makeValkey(nil)
	l.untilReady()
	l.change(withPolicy(true))
	l.until("the conflict is told", func() error {
		return l.wantCondition(v1alpha1.ConditionDegraded, metav1.ConditionTrue, v1alpha1.ReasonForeignObject)
	})
	if events := l.happened(); !strings.Contains(events, v1alpha1.EventForeignObject) {
		t.Errorf("events:\n%s", events)
	}
	l.change(withPolicy(false))
	l.pass()
	l.get(theirs.Name, theirs)
	if len(theirs.OwnerReferences) > 0 || len(theirs.Spec.Ingress) > 0 {
		t.Errorf("their policy was changed: %+v", theirs)
	}
	l.controller.now = func() time.Time { return time.Now().Add(failureLast) }
	l.untilReady()
}
