// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package apiserver

import (
	"fmt"
	"net/http"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func monitored(name, monitor string) string {
	block := ""
	if monitor != "" {
		block = fmt.Sprintf(", sentinel: {monitorName: %s}", monitor)
	}
	return fmt.Sprintf("{apiVersion: valkey.io/v1alpha1, kind: Valkey, metadata: {name: %s, labels: {watched: 'yes'}}, spec: {replicas: 1, failover: {mode: Sentinel%s}}}", name, block)
}

func expectTaken(t *testing.T, got answer, monitor, holder string) {
	t.Helper()
	want := []string{fmt.Sprintf("spec.failover.sentinel.monitorName: Invalid value: %q: is the name under which Valkey %s of this namespace is monitored: set another monitorName", monitor, holder)}
	if diff := cmp.Diff(want, got.errors()); got.code != http.StatusUnprocessableEntity || diff != "" {
		t.Errorf("%d, want (-), got (+):\n%s", got.code, diff)
	}
}

func TestAMonitorNameIsOneValkeys(t *testing.T) {
	const namespace = "monitor-names"
	try := func(manifest string) answer {
		return call{namespace: namespace, path: "valkeys", body: asJSON(t, manifest)}.send(t)
	}
	create(t, namespace, "valkeys", monitored("a", "m"))
	create(t, namespace, "valkeys", monitored("other", ""))
	create(t, namespace+"-2", "valkeys", monitored("b", "m"))
	expectTaken(t, try(monitored("b", "m")), "m", "a")
	expectTaken(t, try(monitored("m", "")), "m", "a")
	expectTaken(t, try(monitored("b", "other")), "other", "other")
	expectTaken(t, call{
		verb: http.MethodPatch, namespace: namespace, path: "valkeys/m", contentType: applyPatch, body: monitored("m", ""), parameters: "fieldManager=me",
	}.send(t), "m", "a")

	create(t, namespace, "valkeys", "{metadata: {name: m}, spec: {failover: {mode: Operator}}}")
	expectTaken(t, patch(t, namespace, "valkeys/m", "{spec: {failover: {mode: Sentinel, operator: null}}}"), "m", "a")
	expectTaken(t, patch(t, namespace, "valkeys/other", "{spec: {failover: {sentinel: {monitorName: m}}}}"), "m", "a")
	if got := patch(t, namespace, "valkeys/a", "{spec: {replicas: 2}, metadata: {labels: {b: c}}}"); got.code != http.StatusOK {
		t.Errorf("the holder itself: %d %s", got.code, got.body)
	}
	if got := patch(t, namespace, "valkeys/a", "{spec: {failover: {mode: None, sentinel: null}}}"); got.code != http.StatusOK {
		t.Fatalf("%d %s", got.code, got.body)
	}
	// The name is free at once.
	if got := patch(t, namespace, "valkeys/m", "{spec: {failover: {mode: Sentinel, operator: null}}}"); got.code != http.StatusOK {
		t.Errorf("%d %s", got.code, got.body)
	}
	expectTaken(t, patch(t, namespace, "valkeys/a", "{spec: {failover: {mode: Sentinel, sentinel: {monitorName: m}}}}"), "m", "m")
}

func TestOfManyAtOnceOneGetsTheMonitorName(t *testing.T) {
	const namespace, many = "monitor-race", 16
	codes := make([]int, many)
	var all sync.WaitGroup
	for i := range many {
		all.Go(func() {
			codes[i] = call{namespace: namespace, path: "valkeys", body: asJSON(t, monitored(fmt.Sprintf("v%d", i), "m"))}.send(t).code
		})
	}
	all.Wait()
	count := map[int]int{}
	for _, code := range codes {
		count[code]++
	}
	if diff := cmp.Diff(map[int]int{http.StatusCreated: 1, http.StatusUnprocessableEntity: many - 1}, count); diff != "" {
		t.Errorf("want (-), got (+):\n%s", diff)
	}
}

func TestWhoSelectsWhomIsWarnedAbout(t *testing.T) {
	const namespace = "selections"
	watching := func(name string, replicas int) string {
		return fmt.Sprintf("{metadata: {name: %s}, spec: {replicas: %d, valkeySelector: {matchLabels: {watched: 'yes'}}}}", name, replicas)
	}
	expect := func(what string, got, want []string) {
		t.Helper()
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: want (-), got (+):\n%s", what, diff)
		}
	}
	expect("a set that selects nothing yet", create(t, namespace, "valkeysentinels", watching("a", 3)), nil)
	expect("a Valkey of one set", create(t, namespace, "valkeys", monitored("one", "")), nil)
	shared := []string{"spec.valkeySelector: Valkey one stays with the older ValkeySentinel a, which selects it too"}
	expect("a second set", create(t, namespace, "valkeysentinels", watching("b", 3)), shared)
	both := "metadata.labels: selected by the ValkeySentinels a and b: the oldest, a, monitors it"
	expect("a Valkey of two sets", create(t, namespace, "valkeys", monitored("two", "")), []string{both})
	expect("a change of it", patch(t, namespace, "valkeys/two", "{spec: {replicas: 2}}").warnings, []string{both})
	expect("an annotation of it", patch(t, namespace, "valkeys/two", "{metadata: {annotations: {a: b}}}").warnings, nil)
	expect("other labels", patch(t, namespace, "valkeys/two", "{metadata: {labels: {watched: 'no'}}}").warnings, nil)
	expect("its labels again", patch(t, namespace, "valkeys/two", "{metadata: {labels: {watched: 'yes'}}}").warnings, []string{both})
	expect("its status", patch(t, namespace, "valkeys/two/status", "{status: {state: Ready}}").warnings, nil)

	low := "with the Sentinels of ValkeySentinel a, a quorum of 1 is no majority of 3: so few may be wrong about the primary"
	expect("a low quorum", patch(t, namespace, "valkeys/two", "{spec: {failover: {sentinel: {quorum: 1}}}}").warnings,
		[]string{both, "spec.failover.sentinel.quorum: " + low})
	high := "with the Sentinels of ValkeySentinel a, a quorum of 4 is more than the 3 there are: no failover can be agreed on"
	expect("a high quorum", patch(t, namespace, "valkeys/two", "{spec: {failover: {sentinel: {quorum: 4}}}}").warnings,
		[]string{both, "spec.failover.sentinel.quorum: " + high})
	expect("the set it is high for", patch(t, namespace, "valkeysentinels/a", "{spec: {image: a}}").warnings, []string{
		"spec.valkeySelector: Valkey one is monitored by this one, which is older than ValkeySentinel b, which selects it too",
		"spec.valkeySelector: Valkey two is monitored by this one, which is older than ValkeySentinel b, which selects it too",
		"spec.replicas: for Valkey two, a quorum of 4 is more than the 3 there are: no failover can be agreed on",
	})
	scaled := call{verb: http.MethodPatch, namespace: namespace, path: "valkeysentinels/a/scale", contentType: mergePatch, body: `{"spec":{"replicas":9}}`}.send(t)
	if len(scaled.warnings) != 3 || scaled.warnings[2] != "spec.replicas: for Valkey two, a quorum of 4 is no majority of 9: so few may be wrong about the primary" {
		t.Errorf("scaled: %d %q", scaled.code, scaled.warnings)
	}
}

// Objects whose children would be called alike are refused, whichever comes second; what is gone is in nobody's way.
func TestNamesOfChildrenAreOneObjects(t *testing.T) {
	const namespace = "child-names"
	valkey := func(name string, replicas int) string {
		return fmt.Sprintf("{apiVersion: valkey.io/v1alpha1, kind: Valkey, metadata: {name: %s}, spec: {replicas: %d, failover: {mode: Operator}}}", name, replicas)
	}
	expect := func(what string, got answer, code int, want ...string) {
		t.Helper()
		if diff := cmp.Diff(want, got.errors()); got.code != code || diff != "" {
			t.Errorf("%s: %d, want (-), got (+):\n%s", what, got.code, diff)
		}
	}
	try := func(name string, replicas int) answer {
		return call{namespace: namespace, path: "valkeys", body: asJSON(t, valkey(name, replicas))}.send(t)
	}
	taken := func(name, service, holder string) string {
		return fmt.Sprintf("metadata.name: Invalid value: %q: would have the Service %s, which %s has: choose another name", name, service, holder)
	}
	create(t, namespace, "valkeys", valkey("a", 1))
	create(t, namespace, "valkeysentinels", "{metadata: {name: w}}")
	create(t, namespace+"-2", "valkeys", valkey("a-0", 0))
	create(t, namespace, "valkeys", valkey("a-2", 0))
	create(t, namespace, "valkeys", valkey("b-replicas", 0))
	expect("a node's", try("a-1", 0), http.StatusUnprocessableEntity, taken("a-1", "valkey-a-1", "Valkey a"))
	expect("the primary's", try("a-primary", 0), http.StatusUnprocessableEntity, taken("a-primary", "valkey-a-primary", "Valkey a"))
	expect("the parent of one", try("b", 0), http.StatusUnprocessableEntity, taken("b", "valkey-b-replicas", "Valkey b-replicas"))
	expect("a Sentinel's", try("sentinel-w", 0), http.StatusUnprocessableEntity, taken("sentinel-w", "valkey-sentinel-w", "ValkeySentinel w"))
	expect("scaled out", patch(t, namespace, "valkeys/a", "{spec: {replicas: 2}}"), http.StatusUnprocessableEntity,
		"spec.replicas: Invalid value: 2: would have the Service valkey-a-2, which Valkey a-2 has: it can have fewer")
	scaled := call{verb: http.MethodPatch, namespace: namespace, path: "valkeys/a/scale", contentType: mergePatch, body: `{"spec":{"replicas":3}}`}.send(t)
	if scaled.code != http.StatusUnprocessableEntity {
		t.Errorf("scaled out: %d %s", scaled.code, scaled.body)
	}
	create(t, namespace, "valkeys", valkey("sentinel-x", 0))
	expect("a Valkey's", call{namespace: namespace, path: "valkeysentinels", body: asJSON(t, "{apiVersion: valkey.io/v1alpha1, kind: ValkeySentinel, metadata: {name: x}}")}.send(t),
		http.StatusUnprocessableEntity, taken("x", "valkey-sentinel-x", "Valkey sentinel-x"))

	if got := patch(t, namespace, "valkeys/a", "{metadata: {labels: {b: c}}, spec: {image: a}}"); got.code != http.StatusOK {
		t.Errorf("what was there before: %d %s", got.code, got.body)
	}
	if got := (call{verb: http.MethodDelete, namespace: namespace, path: "valkeys/a"}).send(t); got.code != http.StatusOK {
		t.Fatalf("%d %s", got.code, got.body)
	}
	create(t, namespace, "valkeys", valkey("a-0", 0))
}
