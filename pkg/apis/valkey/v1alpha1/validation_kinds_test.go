// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	"context"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestValkeySentinelRulesOnUpdate(t *testing.T) {
	wayOut := "to change it, make another ValkeySentinel with the same selector and delete this one"
	cases := map[string]struct {
		old, spec string
		want      []string
	}{
		"what may change":    {`spec: {persistence: {size: 1Gi}}`, `spec: {replicas: 5, image: a, persistence: {size: 2Gi, reclaimPolicy: Delete}}`, nil},
		"persistence added":  {`spec: {}`, `spec: {persistence: {size: 1Gi}}`, []string{`spec.persistence: Forbidden: may not be added, there is none now; ` + wayOut}},
		"persistence gone":   {`spec: {persistence: {size: 1Gi}}`, `spec: {}`, []string{`spec.persistence: Forbidden: may not be removed, its size is 1Gi now; ` + wayOut}},
		"persistence shrunk": {`spec: {persistence: {size: 1Gi}}`, `spec: {persistence: {size: 1Mi}}`, []string{`spec.persistence.size: Forbidden: may not shrink, it is 1Gi now; ` + wayOut}},
		"another class":      {`spec: {persistence: {size: 1Gi, storageClassName: a}}`, `spec: {persistence: {size: 1Gi}}`, []string{`spec.persistence.storageClassName: Forbidden: may not change, it is "a" now; ` + wayOut}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			old, sentinel := decoded(t, &ValkeySentinel{}, c.old), decoded(t, &ValkeySentinel{}, c.spec)
			got := messages(scheme(t).ValidateUpdate(context.Background(), nil, sentinel, old))
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("want (-), got (+):\n%s", diff)
			}
		})
	}
}

func TestValkeyNodeRulesOnUpdate(t *testing.T) {
	old := decoded(t, &ValkeyNode{}, `spec: {valkey: a, persistence: {size: 1Gi}}`)
	node := decoded(t, &ValkeyNode{}, `spec: {valkey: b, workloadType: Deployment}`)
	want := []string{
		`spec.valkey: Forbidden: may not change, it is "a" now; to change it, make another ValkeyNode`,
		`spec.workloadType: Forbidden: may not change, it is "StatefulSet" now; to change it, make another Valkey and move the data there`,
		`spec.persistence: Forbidden: may not be removed, its size is 1Gi now; to change it, make another Valkey and move the data there`,
	}
	if diff := cmp.Diff(want, messages(scheme(t).ValidateUpdate(context.Background(), nil, node, old))); diff != "" {
		t.Errorf("want (-), got (+):\n%s", diff)
	}
}

func TestFailoverRules(t *testing.T) {
	cases := map[string]struct {
		spec string
		want []string
	}{
		"nothing":      {`{}`, nil},
		"everything":   {`spec: {valkey: v, to: v-1, mode: Forced, timeoutSeconds: 30, preconditions: {uid: u, resourceVersion: "1"}}`, nil},
		"unknown mode": {`spec: {mode: Gentle}`, []string{`spec.mode: Unsupported value: "Gentle": supported values: "Coordinated", "Forced"`}},
		"too long":     {`spec: {timeoutSeconds: 31}`, []string{`spec.timeoutSeconds: Invalid value: 31: must be less than or equal to 30`}},
		"negative":     {`spec: {timeoutSeconds: -1}`, []string{`spec.timeoutSeconds: Invalid value: -1: must be greater than or equal to 1`}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			failover := decoded(t, &Failover{}, c.spec)
			got := messages(scheme(t).Validate(context.Background(), nil, failover, "failover"))
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("want (-), got (+):\n%s", diff)
			}
		})
	}
}
