// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package apiserver

import (
	"net/http"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/yaml"

	"github.com/valkeykube/valkeykube/pkg/apis/valkey/v1alpha1"
	"github.com/valkeykube/valkeykube/pkg/apiserver"
)

// What is in etcd may have been stored under older rules.
func TestWhatWasStoredUnderOlderRulesCanBeUpdated(t *testing.T) {
	const namespace = "ratchet"
	const longName = "a-name-that-was-allowed-when-children-were-called-otherwise"
	for name, c := range map[string]struct {
		object               runtime.Object
		name, spec           string
		change, bad, mending string
		want                 string
	}{
		"Valkey": {&v1alpha1.Valkey{}, "bad",
			`{replicas: 1, image: "a b", config: {"a b": c}, users: [{name: _x}], failover: {mode: None, sentinel: {monitorName: "a b"}}, containers: [{name: A}]}`,
			"{spec: {replicas: 2, config: {d: e}}}", `{spec: {image: "a c"}}`,
			`{spec: {image: a, config: {"a b": null}, users: [], failover: {sentinel: null}, containers: []}}`,
			`spec.image: Invalid value: "a c": must be the name of an image, without spaces`},
		"Valkey of a long name": {&v1alpha1.Valkey{}, longName, `{replicas: 1}`,
			"{spec: {replicas: 2}}", "{spec: {replicas: -1}}", "{spec: {replicas: 0}}",
			`spec.replicas: Invalid value: -1: must be greater than or equal to 0`},
		"ValkeySentinel": {&v1alpha1.ValkeySentinel{}, "bad",
			`{replicas: 1, valkeySelector: {matchLabels: {"a b": c}}, persistence: {size: "0"}}`,
			"{spec: {image: a}}", "{spec: {replicas: 2}}", "{spec: {replicas: 3, valkeySelector: null, persistence: {size: 1Gi}}}",
			`spec.replicas: Invalid value: 2: must be greater than or equal to 3`},
		"ValkeyNode": {&v1alpha1.ValkeyNode{}, "bad",
			`{workloadType: Deployment, persistence: {size: 1Gi}, podLabels: {a: "b c"}}`,
			"{spec: {image: a, podLabels: {d: e}}}", `{spec: {podLabels: {a: "c d"}}}`, `{spec: {podLabels: {a: b}}}`,
			`spec.podLabels: Invalid value: "c d": a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')`},
	} {
		t.Run(name, func(t *testing.T) {
			if err := yaml.UnmarshalStrict([]byte("spec: "+c.spec), c.object); err != nil {
				t.Fatal(err)
			}
			object := c.object.(metav1.Object)
			object.SetName(c.name)
			object.SetNamespace(namespace)
			object.SetUID(types.UID("uid-of-" + c.name))
			object.SetGeneration(1)
			kinds, _, err := apiserver.Scheme.ObjectKinds(c.object)
			if err != nil {
				t.Fatal(err)
			}
			kind := kinds[0].Kind
			putRaw(t, pluralOf[kind], namespace, c.name, c.object)
			path := pluralOf[kind] + "/" + c.name
			if got := (call{verb: http.MethodGet, namespace: namespace, path: path}).send(t); got.code != http.StatusOK {
				t.Fatalf("%d %s", got.code, got.body)
			}
			for what, got := range map[string]answer{
				"another field":     patch(t, namespace, path, c.change),
				"a label":           patch(t, namespace, path, "{metadata: {labels: {a: b}}}"),
				"the status":        patch(t, namespace, path+"/status", "{status: {observedGeneration: 1}}"),
				"another's account": call{verb: http.MethodPatch, namespace: namespace, path: path, contentType: applyPatch, parameters: "fieldManager=me", body: "{apiVersion: valkey.io/v1alpha1, kind: " + kind + ", metadata: {name: " + c.name + ", annotations: {a: b}}}"}.send(t),
			} {
				if got.code != http.StatusOK {
					t.Errorf("%s: %d %s", what, got.code, got.body)
				}
			}
			if diff := cmp.Diff([]string{c.want}, patch(t, namespace, path, c.bad).errors()); diff != "" {
				t.Errorf("worse: want (-), got (+):\n%s", diff)
			}
			if got := patch(t, namespace, path, c.mending); got.code != http.StatusOK {
				t.Errorf("mended: %d %s", got.code, got.body)
			}
			if got := (call{verb: http.MethodDelete, namespace: namespace, path: path}).send(t); got.code != http.StatusOK {
				t.Errorf("deleted: %d %s", got.code, got.body)
			}
		})
	}
}

// Two Valkeys of one monitor name can be there: stored by two servers at once, or by older rules.
func TestAnUpdateDoesNotAskForTheMonitorNameAgain(t *testing.T) {
	const namespace = "ratchet-monitor"
	for _, name := range []string{"a", "b"} {
		valkey := &v1alpha1.Valkey{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: namespace, UID: types.UID(name), Generation: 1}}
		valkey.Spec.Failover = v1alpha1.FailoverSpec{Mode: v1alpha1.FailoverModeSentinel, Sentinel: &v1alpha1.SentinelFailoverSpec{MonitorName: "m"}}
		putRaw(t, "valkeys", namespace, name, valkey)
	}
	if got := patch(t, namespace, "valkeys/b", "{spec: {replicas: 2}}"); got.code != http.StatusOK {
		t.Errorf("%d %s", got.code, got.body)
	}
	if got := patch(t, namespace, "valkeys/b", "{spec: {failover: {sentinel: null}}}"); got.code != http.StatusOK {
		t.Errorf("given up: %d %s", got.code, got.body)
	}
	expectTaken(t, patch(t, namespace, "valkeys/b", "{spec: {failover: {sentinel: {monitorName: m}}}}"), "m", "a")
}
