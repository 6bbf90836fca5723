// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package valkey

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	api "github.com/valkeykube/valkeykube/pkg/apis/valkey"
)

func TestAServiceIsOneObjects(t *testing.T) {
	of := func(replicas int32) *api.Valkey {
		return &api.Valkey{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "a"}, Spec: api.ValkeySpec{Replicas: replicas}}
	}
	named := func(service, holder string) []string {
		return []string{`metadata.name: Invalid value: "a": would have the Service ` + service + `, which ` + holder + ` has: choose another name`}
	}
	for name, c := range map[string]struct {
		object, old *api.Valkey
		services    map[string]string
		want        []string
	}{
		"free":                    {of(2), nil, map[string]string{"valkey-b": "Valkey b", "valkey-a-3": "Valkey a-3"}, nil},
		"its own":                 {of(2), nil, map[string]string{"valkey-a": "Valkey a"}, nil},
		"its own name":            {of(0), nil, map[string]string{"valkey-a": "Valkey x"}, named("valkey-a", "Valkey x")},
		"of its primary":          {of(0), nil, map[string]string{"valkey-a-primary": "Valkey a-primary"}, named("valkey-a-primary", "Valkey a-primary")},
		"of its replicas":         {of(0), nil, map[string]string{"valkey-a-replicas": "Valkey a-replicas"}, named("valkey-a-replicas", "Valkey a-replicas")},
		"of its only node":        {of(0), nil, map[string]string{"valkey-a-0": "Valkey a-0"}, named("valkey-a-0", "Valkey a-0")},
		"of its last node":        {of(2), nil, map[string]string{"valkey-a-2": "ValkeySentinel x"}, named("valkey-a-2", "ValkeySentinel x")},
		"more than names allow":   {of(5000), nil, nil, nil},
		"negative":                {of(-5), nil, nil, nil},
		"an update":               {of(2), of(2), map[string]string{"valkey-a-0": "Valkey a-0"}, nil},
		"scaled in":               {of(0), of(2), map[string]string{"valkey-a-0": "Valkey a-0", "valkey-a-2": "Valkey a-2"}, nil},
		"scaled out, next to one": {of(2), of(1), map[string]string{"valkey-a-0": "Valkey a-0", "valkey-a-3": "Valkey a-3"}, nil},
		"scaled out, onto one": {of(3), of(1), map[string]string{"valkey-a-3": "Valkey a-3"},
			[]string{`spec.replicas: Invalid value: 3: would have the Service valkey-a-3, which Valkey a-3 has: it can have fewer`}},
	} {
		t.Run(name, func(t *testing.T) {
			var got []string
			for _, err := range NewKind(&others{services: c.services}, &MonitorNames{}).Conflicts(t.Context(), c.object, c.old) {
				got = append(got, err.Error())
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("want (-), got (+):\n%s", diff)
			}
		})
	}
}
