// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	"context"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/yaml"

	"github.com/valkeykube/valkeykube/pkg/naming"
)

func decoded[T runtime.Object](t *testing.T, into T, spec string) T {
	t.Helper()
	if err := yaml.UnmarshalStrict([]byte(spec), into); err != nil {
		t.Fatalf("%v in:\n%s", err, spec)
	}
	scheme(t).Default(into)
	return into
}

func messages(errs field.ErrorList) []string {
	var texts []string
	for _, err := range errs {
		texts = append(texts, err.Error())
	}
	return texts
}

func TestMostReplicasIsWhatNamesAllow(t *testing.T) {
	valkey := decoded(t, &Valkey{}, `spec: {}`)
	valkey.Spec.Replicas = naming.MaxReplicas
	if errs := scheme(t).Validate(context.Background(), nil, valkey); len(errs) != 0 {
		t.Errorf("%d replicas: %v", naming.MaxReplicas, errs)
	}
	valkey.Spec.Replicas++
	want := []string{`spec.replicas: Invalid value: 999: must be less than or equal to 998`}
	if diff := cmp.Diff(want, messages(scheme(t).Validate(context.Background(), nil, valkey))); diff != "" {
		t.Errorf("want (-), got (+):\n%s", diff)
	}
}

func TestValkeyRulesOnUpdate(t *testing.T) {
	wayOut := "to change it, make another Valkey and move the data there"
	frozen := func(name string) string {
		return `spec.failover.sentinel.monitorName: Forbidden: may not change, it is "` + name + `" now and clients ask the Sentinels for it; ` +
			`to change it, take the sentinel block out, then put it back with another name`
	}
	cases := map[string]struct {
		old, spec string
		want      []string
	}{
		"replicas and config may change":   {`spec: {}`, `spec: {replicas: 3, config: {a: b}}`, nil},
		"persistence may grow":             {`spec: {persistence: {size: 1Gi}}`, `spec: {persistence: {size: 2Gi, mode: RDB, reclaimPolicy: Delete}}`, nil},
		"the same size, written otherwise": {`spec: {persistence: {size: 1Gi}}`, `spec: {replicas: 1, persistence: {size: 1024Mi}}`, nil},
		"persistence added": {`spec: {}`, `spec: {persistence: {size: 1Gi}}`,
			[]string{`spec.persistence: Forbidden: may not be added, there is none now; ` + wayOut}},
		"persistence removed": {`spec: {persistence: {size: 1Gi}}`, `spec: {}`,
			[]string{`spec.persistence: Forbidden: may not be removed, its size is 1Gi now; ` + wayOut}},
		"persistence shrunk": {`spec: {persistence: {size: 1Gi}}`, `spec: {persistence: {size: 512Mi}}`,
			[]string{`spec.persistence.size: Forbidden: may not shrink, it is 1Gi now; ` + wayOut}},
		"class set": {`spec: {persistence: {size: 1Gi}}`, `spec: {persistence: {size: 1Gi, storageClassName: fast}}`,
			[]string{`spec.persistence.storageClassName: Forbidden: may not change, it is the cluster's default now; ` + wayOut}},
		"class changed": {`spec: {persistence: {size: 1Gi, storageClassName: slow}}`, `spec: {persistence: {size: 1Gi, storageClassName: fast}}`,
			[]string{`spec.persistence.storageClassName: Forbidden: may not change, it is "slow" now; ` + wayOut}},
		"workloadType": {`spec: {}`, `spec: {workloadType: Deployment}`,
			[]string{`spec.workloadType: Forbidden: may not change, it is "StatefulSet" now; ` + wayOut}},
		"monitorName changed": {`spec: {failover: {mode: Sentinel, sentinel: {monitorName: a}}}`, `spec: {failover: {mode: Sentinel, sentinel: {monitorName: b}}}`,
			[]string{frozen("a")}},
		"monitorName set": {`spec: {failover: {mode: Sentinel, sentinel: {quorum: 2}}}`, `spec: {failover: {mode: Sentinel, sentinel: {monitorName: b}}}`,
			[]string{frozen("")}},
		"monitorName removed": {`spec: {failover: {mode: Sentinel, sentinel: {monitorName: a}}}`, `spec: {failover: {mode: Sentinel, sentinel: {quorum: 2}}}`,
			[]string{frozen("a")}},
		"the sentinel block goes with the mode": {`spec: {failover: {mode: Sentinel, sentinel: {monitorName: a}}}`, `spec: {failover: {mode: Operator}}`, nil},
		"the mode goes and the block stays": {`spec: {failover: {mode: Sentinel, sentinel: {monitorName: a}}}`, `spec: {failover: {mode: None, sentinel: {monitorName: a}}}`,
			[]string{`spec.failover.sentinel: Forbidden: only with failover.mode Sentinel`}},
		"another monitorName with a new block": {`spec: {failover: {mode: Sentinel}}`, `spec: {failover: {mode: Sentinel, sentinel: {monitorName: b}}}`, nil},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			old, valkey := decoded(t, &Valkey{}, c.old), decoded(t, &Valkey{}, c.spec)
			got := messages(scheme(t).ValidateUpdate(context.Background(), nil, valkey, old))
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("want (-), got (+):\n%s", diff)
			}
		})
	}
}

func TestStatusIsNotHeldUpByAnOldSpec(t *testing.T) {
	old := decoded(t, &Valkey{}, `spec: {failover: {sentinel: {}}, persistence: {size: "0"}}`)
	valkey := old.DeepCopy()
	valkey.Status.Replicas = 1
	if errs := scheme(t).ValidateUpdate(context.Background(), nil, valkey, old, "status"); len(errs) != 0 {
		t.Error(errs)
	}
	valkey.Status.Members = []MemberStatus{{Node: "a"}, {Node: "a"}}
	want := []string{`status.members[1]: Duplicate value: {"node":"a"}`}
	if diff := cmp.Diff(want, messages(scheme(t).ValidateUpdate(context.Background(), nil, valkey, old, "status"))); diff != "" {
		t.Errorf("want (-), got (+):\n%s", diff)
	}
}
