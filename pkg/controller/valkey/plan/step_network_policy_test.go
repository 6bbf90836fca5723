// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"testing"

	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/valkeykube/valkeykube/pkg/apis/valkey/v1alpha1"
	"github.com/valkeykube/valkeykube/pkg/desired"
	"github.com/valkeykube/valkeykube/pkg/naming"
)

func TestNetworkPolicy(t *testing.T) {
	on := func(o *Observed) { o.Valkey.Spec.Networking.NetworkPolicy = &v1alpha1.NetworkPolicySpec{Enabled: true} }
	off := func(o *Observed) { o.Valkey.Spec.Networking.NetworkPolicy = &v1alpha1.NetworkPolicySpec{} }
	theirs := func(o *Observed) {
		o.Objects.NetworkPolicy = &networkingv1.NetworkPolicy{ObjectMeta: metav1.ObjectMeta{Name: naming.ValkeyNetworkPolicy("v"), UID: "theirs"}}
	}
	ours := func(o *Observed) {
		theirs(o)
		reference := metav1.NewControllerRef(o.Valkey, v1alpha1.SchemeGroupVersion.WithKind(desired.KindValkey))
		o.Objects.NetworkPolicy.OwnerReferences = []metav1.OwnerReference{*reference}
	}
	check(t, map[string]planCase{
		"not asked for":              {given(modeNone, 0), ""},
		"asked for":                  {given(modeNone, 0, on), "apply NetworkPolicy valkey-v"},
		"there":                      {given(modeNone, 0, on, ours), ""},
		"somebody else's":            {given(modeNone, 0, on, theirs), "blocked ForeignObject"},
		"switched off":               {given(modeNone, 0, off, ours), "delete NetworkPolicy valkey-v"},
		"the block taken out":        {given(modeNone, 0, ours), "delete NetworkPolicy valkey-v"},
		"off, and somebody else has": {given(modeNone, 0, off, theirs), ""},
	}, "networkPolicy")
	if d := only(given(modeNone, 0, off, ours), "networkPolicy").Actions[0].(Delete); d.UID != "theirs" {
		t.Errorf("the one that was looked at is %q", d.UID)
	}
}
