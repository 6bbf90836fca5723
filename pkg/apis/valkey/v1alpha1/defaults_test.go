// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	"testing"

	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"
)

func scheme(t *testing.T) *runtime.Scheme {
	t.Helper()
	made := runtime.NewScheme()
	if err := AddToScheme(made); err != nil {
		t.Fatal(err)
	}
	return made
}

// What a person sees with -o yaml who wrote as little as possible.
func TestDefaultsAreVisible(t *testing.T) {
	cases := map[string]struct {
		object runtime.Object
		given  string
		want   string
	}{
		"a Valkey of nothing": {&Valkey{}, `{}`, `
metadata: {}
spec:
  failover: {mode: None}
  image: docker.io/valkey/valkey:8.1
  podDisruptionBudget: {maxUnavailable: 1, mode: Managed}
  replicas: 0
  rollingUpdate: {syncTimeout: 5m0s}
  scheduling: {node: {spread: {pods: {mode: Preferred}}}, zone: {spread: {pods: {mode: Preferred}}}}
  workloadType: StatefulSet
`},
		"what depends on other fields": {&Valkey{}, `
spec:
  failover: {mode: Operator}
  persistence: {size: 1Gi}
  exporter: {enabled: true}
  podDisruptionBudget: {mode: Disabled}
  users: [{name: app, passwordSecret: {name: s}}]
`, `
metadata: {}
spec:
  exporter: {enabled: true, image: "docker.io/oliver006/redis_exporter:v1.74.0"}
  failover: {mode: Operator, operator: {downAfter: 10s}}
  image: docker.io/valkey/valkey:8.1
  persistence: {mode: AOF, reclaimPolicy: Retain, size: 1Gi}
  podDisruptionBudget: {mode: Disabled}
  replicas: 0
  rollingUpdate: {syncTimeout: 5m0s}
  scheduling: {node: {spread: {pods: {mode: Preferred}}}, zone: {spread: {pods: {mode: Preferred}}}}
  users: [{enabled: true, name: app, passwordSecret: {name: s}}]
  workloadType: StatefulSet
`},
		"mode Sentinel does not force a sentinel block in": {&Valkey{}, `spec: {failover: {mode: Sentinel}, replicas: 2}`, `
metadata: {}
spec:
  failover: {mode: Sentinel}
  image: docker.io/valkey/valkey:8.1
  podDisruptionBudget: {maxUnavailable: 1, mode: Managed}
  replicas: 2
  rollingUpdate: {syncTimeout: 5m0s}
  scheduling: {node: {spread: {pods: {mode: Preferred}}}, zone: {spread: {pods: {mode: Preferred}}}}
  workloadType: StatefulSet
`},
		"a ValkeySentinel of nothing": {&ValkeySentinel{}, `{}`, `
metadata: {}
spec:
  image: docker.io/valkey/valkey:8.1
  podDisruptionBudget: {mode: Managed}
  replicas: 3
  scheduling: {node: {spread: {pods: {mode: Preferred}}}, zone: {spread: {pods: {mode: Preferred}}}}
`},
		"a ValkeyNode of nothing": {&ValkeyNode{}, `{}`, `
metadata: {}
spec:
  image: docker.io/valkey/valkey:8.1
  scheduling: {node: {spread: {pods: {mode: Preferred}}}, zone: {spread: {pods: {mode: Preferred}}}}
  workloadType: StatefulSet
`},
		"an empty failover": {&Failover{}, `{}`, `
metadata: {}
spec: {mode: Coordinated, timeoutSeconds: 25}
`},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			if err := yaml.UnmarshalStrict([]byte(c.given), c.object); err != nil {
				t.Fatal(err)
			}
			scheme(t).Default(c.object)
			first := asYAML(t, c.object)
			if want := canonical(t, c.want); first != want {
				t.Errorf("got:\n%s\nwant:\n%s", first, want)
			}
			scheme(t).Default(c.object)
			if second := asYAML(t, c.object); second != first {
				t.Errorf("defaulting twice changed it to:\n%s", second)
			}
		})
	}
}

func TestEffectiveMonitorName(t *testing.T) {
	valkey := &Valkey{}
	valkey.Name = "cache"
	if got := EffectiveMonitorName(valkey); got != "cache" {
		t.Errorf("without a sentinel block: got %q", got)
	}
	valkey.Spec.Failover.Sentinel = &SentinelFailoverSpec{}
	if got := EffectiveMonitorName(valkey); got != "cache" {
		t.Errorf("without a monitorName: got %q", got)
	}
	valkey.Spec.Failover.Sentinel.MonitorName = "main"
	if got := EffectiveMonitorName(valkey); got != "main" {
		t.Errorf("got %q", got)
	}
}

func asYAML(t *testing.T, object any) string {
	t.Helper()
	text, err := yaml.Marshal(object)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func canonical(t *testing.T, text string) string {
	t.Helper()
	var value any
	if err := yaml.Unmarshal([]byte(text), &value); err != nil {
		t.Fatal(err)
	}
	return asYAML(t, value)
}
