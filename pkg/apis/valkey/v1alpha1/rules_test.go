// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	"context"
	"os"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"
)

// rule is an entry of testdata/rules.yaml.
type rule struct {
	Kind, About, Manifest string
	Errors, Warnings      []string
}

func TestRulesOnCreate(t *testing.T) {
	text, err := os.ReadFile("testdata/rules.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var rules []rule
	if err := yaml.UnmarshalStrict(text, &rules); err != nil {
		t.Fatal(err)
	}
	for _, c := range rules {
		t.Run(c.Kind+" "+c.About, func(t *testing.T) {
			object := map[string]runtime.Object{"Valkey": &Valkey{}, "ValkeySentinel": &ValkeySentinel{}, "ValkeyNode": &ValkeyNode{}}[c.Kind]
			decoded(t, object, c.Manifest)
			got := messages(scheme(t).Validate(context.Background(), nil, object))
			slices.Sort(got)
			slices.Sort(c.Errors)
			if diff := cmp.Diff(c.Errors, got); diff != "" {
				t.Errorf("errors: want (-), got (+):\n%s", diff)
			}
			if len(got) > 0 {
				return
			}
			warned := warningsOf(object)
			if diff := cmp.Diff(c.Warnings, warned); diff != "" {
				t.Errorf("warnings: want (-), got (+):\n%s", diff)
			}
			for _, text := range warned {
				if len(text) > 120 {
					t.Errorf("%d characters, clients cut at 120: %s", len(text), text)
				}
			}
		})
	}
}

func warningsOf(object runtime.Object) []string {
	switch object := object.(type) {
	case *Valkey:
		return ValkeyWarnings(object)
	case *ValkeySentinel:
		return ValkeySentinelWarnings(object)
	case *ValkeyNode:
		return ValkeyNodeWarnings(object)
	}
	return nil
}

// An object that was stored under older rules can be updated where the invalid field is left alone, and its status always.
func TestWhatIsInvalidAlreadyIsLeftAlone(t *testing.T) {
	cases := map[string]struct {
		object    runtime.Object
		old, spec string
		want      []string
	}{
		"image":               {&Valkey{}, `spec: {image: "a b"}`, `spec: {replicas: 1, image: "a b"}`, nil},
		"exporter":            {&Valkey{}, `spec: {exporter: {image: "a b"}}`, `spec: {replicas: 1, exporter: {enabled: true, image: "a b"}}`, nil},
		"directive":           {&Valkey{}, `spec: {config: {"a b": c}}`, `spec: {replicas: 1, config: {"a b": c, d: e}}`, nil},
		"label":               {&Valkey{}, `spec: {podLabels: {a: "b c"}}`, `spec: {replicas: 1, podLabels: {a: "b c", d: e}}`, nil},
		"annotation":          {&Valkey{}, `spec: {podAnnotations: {"a b": c}}`, `spec: {replicas: 1, podAnnotations: {"a b": c, d: e}}`, nil},
		"user":                {&Valkey{}, `spec: {users: [{name: _x}]}`, `spec: {replicas: 1, users: [{name: _x}, {name: y}]}`, nil},
		"a user's name":       {&Valkey{}, `spec: {users: [{name: _x}]}`, `spec: {users: [{name: _x, resetpass: true}]}`, nil},
		"a user's passwords":  {&Valkey{}, `spec: {users: [{name: x, nopass: true, passwordSecret: {name: s}}]}`, `spec: {users: [{name: x, nopass: true, passwordSecret: {name: t}}]}`, nil},
		"a user's rules":      {&Valkey{}, `spec: {users: [{name: x, permissions: ">a", commands: {allow: ["a b"]}, keys: {readOnly: ["a b"]}}]}`, `spec: {users: [{name: x, resetpass: true, permissions: ">a", commands: {allow: ["a b", get]}, keys: {readOnly: ["a b", c]}}]}`, nil},
		"monitorName":         {&Valkey{}, `spec: {failover: {mode: Sentinel, sentinel: {monitorName: "a b"}}}`, `spec: {replicas: 1, failover: {mode: Sentinel, sentinel: {monitorName: "a b", quorum: 2}}}`, nil},
		"sentinel block":      {&Valkey{}, `spec: {failover: {sentinel: {quorum: 2}}}`, `spec: {replicas: 1, failover: {sentinel: {quorum: 3}}}`, nil},
		"sentinel setting":    {&Valkey{}, `spec: {failover: {mode: Sentinel, sentinel: {config: {a: "b\nc"}}}}`, `spec: {failover: {mode: Sentinel, sentinel: {quorum: 2, config: {a: "b\nc"}}}}`, nil},
		"downAfter":           {&Valkey{}, `spec: {failover: {mode: Operator, operator: {downAfter: 0s}}}`, `spec: {replicas: 1, failover: {mode: Operator, operator: {downAfter: 0s}}}`, nil},
		"syncTimeout":         {&Valkey{}, `spec: {rollingUpdate: {syncTimeout: 0s}}`, `spec: {replicas: 1, rollingUpdate: {syncTimeout: 0s}}`, nil},
		"Deployment":          {&Valkey{}, `spec: {workloadType: Deployment, replicas: 1, persistence: {size: 1Gi}}`, `spec: {workloadType: Deployment, replicas: 1, image: a, persistence: {size: 2Gi}}`, nil},
		"size":                {&Valkey{}, `spec: {persistence: {size: "0"}}`, `spec: {persistence: {size: "0", mode: RDB}}`, nil},
		"two certificates":    {&Valkey{}, `spec: {networking: {tls: {secretName: s, certManager: {issuerRef: {name: i}}}}}`, `spec: {networking: {tls: {port: 7000, secretName: s, certManager: {issuerRef: {name: i}}}}}`, nil},
		"no certificate":      {&Valkey{}, `spec: {networking: {tls: {enabled: true}}}`, `spec: {networking: {tls: {enabled: true, port: 7000}}}`, nil},
		"issuer":              {&Valkey{}, `spec: {networking: {tls: {certManager: {issuerRef: {name: A, kind: b}}}}}`, `spec: {networking: {tls: {port: 7000, certManager: {issuerRef: {name: A, kind: b}, extraDNSNames: [c]}}}}`, nil},
		"extra names":         {&Valkey{}, `spec: {networking: {tls: {certManager: {issuerRef: {name: a}, extraDNSNames: ["*"]}}}}`, `spec: {networking: {tls: {certManager: {issuerRef: {name: b}, extraDNSNames: [c, "*"]}}}}`, nil},
		"network policies":    {&Valkey{}, `spec: {networking: {networkPolicy: {clients: [{podLabels: {"a b": c}}]}}}`, `spec: {replicas: 1, networking: {networkPolicy: {enabled: true, clients: [{podLabels: {"a b": c}}]}}}`, nil},
		"TLS port":            {&Valkey{}, `spec: {networking: {tls: {allowUnencrypted: true, port: 6379}}}`, `spec: {networking: {tls: {secretName: s, allowUnencrypted: true, port: 6379}}}`, nil},
		"budget":              {&Valkey{}, `spec: {podDisruptionBudget: {maxUnavailable: -1}}`, `spec: {podDisruptionBudget: {mode: Disabled, maxUnavailable: -1}}`, nil},
		"container":           {&Valkey{}, `spec: {containers: [{name: A}]}`, `spec: {containers: [{name: A, image: b}, {name: c}]}`, nil},
		"replicas":            {&Valkey{}, `spec: {replicas: -1}`, `spec: {replicas: -1, image: a}`, nil},
		"mode":                {&Valkey{}, `spec: {failover: {mode: Raft}}`, `spec: {replicas: 1, failover: {mode: Raft}}`, nil},
		"a user's Secret":     {&Valkey{}, `spec: {users: [{name: x, passwordSecret: {name: "A B", keys: ["c d"]}}]}`, `spec: {users: [{name: x, resetpass: true, passwordSecret: {name: "A B", keys: ["c d", e]}}]}`, nil},
		"resources":           {&Valkey{}, `spec: {resources: {requests: {cpu: 2, storage: 1Gi}, limits: {cpu: 1}}}`, `spec: {replicas: 1, resources: {requests: {cpu: 2, memory: 1Gi, storage: 1Gi}, limits: {cpu: 1}}}`, nil},
		"sidecar's resources": {&Valkey{}, `spec: {containers: [{name: a, resources: {requests: {cpu: -1}}}]}`, `spec: {containers: [{name: b}, {name: a, image: c, resources: {requests: {cpu: -1}}}]}`, nil},
		"setting":             {&Valkey{}, `spec: {failover: {mode: Sentinel, sentinel: {config: {parallel-syncs: x}}}}`, `spec: {failover: {mode: Sentinel, sentinel: {quorum: 2, config: {parallel-syncs: x}}}}`, nil},
		"selector":            {&ValkeySentinel{}, `spec: {valkeySelector: {matchExpressions: [{key: a, operator: Near}]}}`, `spec: {replicas: 5, valkeySelector: {matchExpressions: [{key: a, operator: Near}]}}`, nil},
		"number of Sentinels": {&ValkeySentinel{}, `spec: {replicas: 1}`, `spec: {replicas: 1, image: a}`, nil},
		"a Sentinel's size":   {&ValkeySentinel{}, `spec: {persistence: {size: "0"}}`, `spec: {replicas: 5, persistence: {size: "0"}}`, nil},
		"a node's volume":     {&ValkeyNode{}, `spec: {workloadType: Deployment, persistence: {size: 1Gi}}`, `spec: {image: a, workloadType: Deployment, persistence: {size: 1Gi}}`, nil},

		// What is made worse, or wrong in another way, is refused.
		"another bad image":     {&Valkey{}, `spec: {image: "a b"}`, `spec: {image: "a c"}`, []string{`spec.image: Invalid value: "a c": must be the name of an image, without spaces`}},
		"another bad directive": {&Valkey{}, `spec: {config: {"a b": c}}`, `spec: {config: {"a b": d}}`, []string{`spec.config: Invalid value: "a b": must be the name of a directive: letters, digits and "-"`}},
		"more replicas":         {&Valkey{}, `spec: {workloadType: Deployment, replicas: 1}`, `spec: {workloadType: Deployment, replicas: 2}`, []string{`spec.replicas: Invalid value: 2: must be 0 with workloadType Deployment`}},
		"another wrong mode":    {&Valkey{}, `spec: {failover: {sentinel: {quorum: 2}}}`, `spec: {failover: {mode: Operator, sentinel: {quorum: 2}}}`, []string{`spec.failover.sentinel: Forbidden: only with failover.mode Sentinel`}},
		"a lower limit":         {&Valkey{}, `spec: {resources: {requests: {cpu: 3}, limits: {cpu: 2}}}`, `spec: {resources: {requests: {cpu: 3}, limits: {cpu: 1}}}`, []string{`spec.resources.requests[cpu]: Invalid value: "3": must not be more than the limit, which is 1`}},
		"another bad pattern":   {&Valkey{}, `spec: {users: [{name: x, keys: {readOnly: ["a b"]}}]}`, `spec: {users: [{name: x, keys: {readOnly: ["a c"]}}]}`, []string{`spec.users[0].keys.readOnly[0]: Invalid value: "a c": must be a pattern without spaces or control characters`}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			old := decoded(t, c.object.DeepCopyObject(), c.old)
			if len(scheme(t).Validate(context.Background(), nil, old)) == 0 {
				t.Error("the old object is valid")
			}
			updated := decoded(t, c.object.DeepCopyObject(), c.spec)
			got := messages(scheme(t).ValidateUpdate(context.Background(), nil, updated, old))
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("want (-), got (+):\n%s", diff)
			}
		})
	}
}
