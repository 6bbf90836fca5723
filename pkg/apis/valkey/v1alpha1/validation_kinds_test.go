// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	"context"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestValkeySentinelRules(t *testing.T) {
	cases := map[string]struct {
		spec string
		want []string
	}{
		"nothing":                 {`spec: {}`, nil},
		"an even number":          {`spec: {replicas: 4}`, nil},
		"0 is the default":        {`spec: {replicas: 0}`, nil},
		"everything":              {`spec: {replicas: 5, valkeySelector: {matchLabels: {a: b}}, config: {loglevel: verbose}, persistence: {size: 64Mi}}`, nil},
		"two":                     {`spec: {replicas: 2}`, []string{`spec.replicas: Invalid value: 2: must be greater than or equal to 3`}},
		"a hundred":               {`spec: {replicas: 100}`, []string{`spec.replicas: Invalid value: 100: must be less than or equal to 99`}},
		"newline in a directive":  {`spec: {config: {loglevel: "a\nsentinel monitor x"}}`, []string{`spec.config[loglevel]: Invalid value: "a\nsentinel monitor x": must not hold control characters such as a newline`}},
		"bad selector operator":   {`spec: {valkeySelector: {matchExpressions: [{key: a, operator: Near}]}}`, []string{`spec.valkeySelector.matchExpressions[0].operator: Invalid value: "Near": not a valid selector operator`}},
		"selector without values": {`spec: {valkeySelector: {matchExpressions: [{key: a, operator: In}]}}`, []string{`spec.valkeySelector.matchExpressions[0].values: Required value: must be specified when ` + "`operator`" + ` is 'In' or 'NotIn'`}},
		"a user of the product":   {`spec: {users: [{name: _peer}]}`, []string{`spec.users[0].name: Invalid value: "_peer": must not begin with "_": those users are the product's own`}},
		"a volume of no size":     {`spec: {persistence: {size: "0"}}`, []string{`spec.persistence.size: Invalid value: "0": must be greater than 0`}},
		"image with a space":      {`spec: {image: "a b"}`, []string{`spec.image: Invalid value: "a b": must be the name of an image, without spaces`}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			sentinel := decoded(t, &ValkeySentinel{}, c.spec)
			got := messages(scheme(t).Validate(context.Background(), nil, sentinel))
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("want (-), got (+):\n%s", diff)
			}
		})
	}
}

func TestValkeyNodeRules(t *testing.T) {
	cases := map[string]struct {
		spec string
		want []string
	}{
		"nothing":                     {`spec: {}`, nil},
		"Deployment with persistence": {`spec: {workloadType: Deployment, persistence: {size: 1Gi}}`, []string{`spec.persistence: Forbidden: not with workloadType Deployment`}},
		"newline in a directive":      {`spec: {config: {maxmemory: "1\n2"}}`, []string{`spec.config[maxmemory]: Invalid value: "1\n2": must not hold control characters such as a newline`}},
		"bad annotation":              {`spec: {podAnnotations: {"a b": c}}`, []string{`spec.podAnnotations: Invalid value: "a b": name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')`}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			node := decoded(t, &ValkeyNode{}, c.spec)
			got := messages(scheme(t).Validate(context.Background(), nil, node))
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
		`spec.persistence: Forbidden: may not be removed, its size is 1Gi now; to change it, make another Valkey and move the data there`,
		`spec.valkey: Invalid value: null: field is immutable`,
		`spec.workloadType: Invalid value: null: field is immutable`,
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
