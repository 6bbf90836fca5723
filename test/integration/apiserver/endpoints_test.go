// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package apiserver

import (
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// writable is a kind, with a change of its spec and one of its status.
type writable struct {
	kind, plural string
	spec, status string
	// specPath and statusPath are where the changes are found again.
	specPath, statusPath []string
}

var writables = []writable{
	{"Valkey", "valkeys", "{image: changed}", "{primary: changed}", []string{"spec", "image"}, []string{"status", "primary"}},
	{"ValkeySentinel", "valkeysentinels", "{image: changed}", "{reason: changed}", []string{"spec", "image"}, []string{"status", "reason"}},
	{"ValkeyNode", "valkeynodes", "{image: changed}", "{podName: changed}", []string{"spec", "image"}, []string{"status", "podName"}},
}

func (w writable) manifest(parts string) string {
	return "{apiVersion: valkey.io/v1alpha1, kind: " + w.kind + ", metadata: {name: a}" + parts + "}"
}

func (a answer) object(t *testing.T) *unstructured.Unstructured {
	t.Helper()
	object := &unstructured.Unstructured{}
	if a.code >= 300 {
		t.Fatalf("%d %s", a.code, a.body)
	}
	if err := object.UnmarshalJSON(a.body); err != nil {
		t.Fatalf("%v: %s", err, a.body)
	}
	return object
}

func (w writable) get(t *testing.T, namespace string) *unstructured.Unstructured {
	t.Helper()
	return call{verb: http.MethodGet, namespace: namespace, path: w.plural + "/a"}.send(t).object(t)
}

// expect checks what of the object has changed.
func (w writable) expect(t *testing.T, what string, object *unstructured.Unstructured, spec, status bool, generation int64) {
	t.Helper()
	inSpec, _, _ := unstructured.NestedString(object.Object, w.specPath...)
	inStatus, _, _ := unstructured.NestedString(object.Object, w.statusPath...)
	if (inSpec == "changed") != spec || (inStatus == "changed") != status || object.GetGeneration() != generation {
		t.Errorf("%s: spec %q, status %q, generation %d; want changed %t, %t, %d", what, inSpec, inStatus, object.GetGeneration(), spec, status, generation)
	}
}

func TestSpecAndStatusAreWrittenThroughTheirOwnEndpoints(t *testing.T) {
	for _, w := range writables {
		t.Run(w.kind, func(t *testing.T) {
			namespace := "endpoints-" + w.plural
			both := ", spec: " + w.spec + ", status: " + w.status
			send := func(verb, path, contentType, body string) *unstructured.Unstructured {
				t.Helper()
				request := call{verb: verb, namespace: namespace, path: path, contentType: contentType, body: asJSON(t, body)}
				if contentType == applyPatch {
					request.parameters = "force=true&fieldManager=applier"
				}
				return request.send(t).object(t)
			}
			create(t, namespace, w.plural, w.manifest(", status: "+w.status))
			w.expect(t, "create", w.get(t, namespace), false, false, 1)
			created := w.get(t, namespace)

			w.expect(t, "status, by update", send(http.MethodPut, w.plural+"/a/status", "", w.manifest(both)), false, true, 1)
			w.expect(t, "status, by merge", send(http.MethodPatch, w.plural+"/a/status", mergePatch, "{spec: "+w.spec+", metadata: {labels: {a: b}, annotations: {a: b}}}"), false, true, 1)
			w.expect(t, "main, by update without a status", send(http.MethodPut, w.plural+"/a", "", w.manifest(", spec: "+w.spec)), true, true, 2)
			object := send(http.MethodPatch, w.plural+"/a", mergePatch, "{status: null, metadata: {labels: {c: d}, generation: 77, uid: '"+string(created.GetUID())+"'}}")
			w.expect(t, "main, by merge", object, true, true, 2)
			if object.GetLabels()["a"] != "" || object.GetLabels()["c"] != "d" || object.GetAnnotations() != nil {
				t.Errorf("labels %v, annotations %v", object.GetLabels(), object.GetAnnotations())
			}
			if object.GetUID() != created.GetUID() || !object.GetCreationTimestamp().Time.Equal(created.GetCreationTimestamp().Time) {
				t.Error("it has become another object")
			}
			w.expect(t, "main, the same spec again", send(http.MethodPatch, w.plural+"/a", mergePatch, "{spec: "+w.spec+"}"), true, true, 2)
			w.expect(t, "main, by strategic merge", send(http.MethodPatch, w.plural+"/a", strategicMerge, "{spec: {image: other}, status: {"+w.statusPath[1]+": other}}"), false, true, 3)
			w.expect(t, "main, by apply", send(http.MethodPatch, w.plural+"/a", applyPatch, w.manifest(both)), true, true, 4)
			w.expect(t, "status, by apply", send(http.MethodPatch, w.plural+"/a/status", applyPatch, w.manifest(", spec: {image: other}, status: "+w.status)), true, true, 4)
			before := w.get(t, namespace)
			after := send(http.MethodPatch, w.plural+"/a/status", mergePatch, "{status: "+w.status+"}")
			if diff := cmp.Diff(before.Object, after.Object); diff != "" {
				t.Errorf("a status that says the same again has changed something:\n%s", diff)
			}
		})
	}
}

func TestResetFieldsAreOwnedByNobody(t *testing.T) {
	for _, w := range writables {
		t.Run(w.kind, func(t *testing.T) {
			namespace := "reset-" + w.plural
			body := w.manifest(", spec: " + w.spec + ", status: " + w.status)
			apply := func(path, manager string) {
				t.Helper()
				call{
					verb: http.MethodPatch, namespace: namespace, path: w.plural + path, contentType: applyPatch, body: body, parameters: "fieldManager=" + manager,
				}.send(t).object(t)
			}
			apply("/a", "main")
			apply("/a/status", "status")
			call{verb: http.MethodPut, namespace: namespace, path: w.plural + "/a", body: asJSON(t, body), parameters: "fieldManager=main-update"}.send(t).object(t)
			call{verb: http.MethodPut, namespace: namespace, path: w.plural + "/a/status", body: asJSON(t, body), parameters: "fieldManager=status-update"}.send(t).object(t)
			seen := 0
			for _, entry := range w.get(t, namespace).GetManagedFields() {
				seen++
				fields := entry.FieldsV1.GetRawString()
				if strings.HasPrefix(entry.Manager, "main") && strings.Contains(fields, `"f:status"`) ||
					strings.HasPrefix(entry.Manager, "status") && (strings.Contains(fields, `"f:spec"`) || strings.Contains(fields, `"f:metadata"`)) {
					t.Errorf("%s owns what it could not write: %s", entry.Manager, fields)
				}
			}
			if seen < 2 {
				t.Errorf("%d managers", seen)
			}
		})
	}
}

// snapshot is all that etcd holds of a namespace.
func snapshot(t *testing.T, namespace string) map[string]string {
	t.Helper()
	stored := map[string]string{}
	for _, plural := range pluralOf {
		for _, name := range storedUnder(t, plural, namespace) {
			got, err := shared.etcd.Get(t.Context(), rawPrefix(plural, namespace)+name)
			if err != nil || len(got.Kvs) != 1 {
				t.Fatalf("%s %s: %v", plural, name, err)
			}
			stored[plural+"/"+name] = string(got.Kvs[0].Value)
		}
	}
	return stored
}

func TestDryRunChangesNothingAnywhere(t *testing.T) {
	const namespace = "dry-run"
	for _, w := range writables {
		create(t, namespace, w.plural, w.manifest(""))
	}
	before := snapshot(t, namespace)
	if len(before) != len(writables) {
		t.Fatalf("stored: %d", len(before))
	}
	for _, w := range writables {
		other := strings.Replace(w.manifest(""), "name: a", "name: b", 1)
		changed := w.manifest(", spec: " + w.spec + ", status: " + w.status)
		main, status := w.plural+"/a", w.plural+"/a/status"
		calls := map[string]call{
			"create":            {path: w.plural, body: asJSON(t, other)},
			"generated name":    {path: w.plural, body: asJSON(t, strings.Replace(w.manifest(""), "name: a", "generateName: a-", 1))},
			"update":            {verb: http.MethodPut, path: main, body: asJSON(t, changed)},
			"merge":             {verb: http.MethodPatch, path: main, contentType: mergePatch, body: asJSON(t, changed)},
			"strategic merge":   {verb: http.MethodPatch, path: main, contentType: strategicMerge, body: asJSON(t, changed)},
			"patch":             {verb: http.MethodPatch, path: main, contentType: jsonPatch, body: `[{"op":"replace","path":"/spec/image","value":"changed"}]`},
			"apply":             {verb: http.MethodPatch, path: main, contentType: applyPatch, body: changed, parameters: "fieldManager=me&force=true"},
			"create by apply":   {verb: http.MethodPatch, path: w.plural + "/b", contentType: applyPatch, body: other, parameters: "fieldManager=me"},
			"status update":     {verb: http.MethodPut, path: status, body: asJSON(t, changed)},
			"status merge":      {verb: http.MethodPatch, path: status, contentType: mergePatch, body: asJSON(t, changed)},
			"status apply":      {verb: http.MethodPatch, path: status, contentType: applyPatch, body: changed, parameters: "fieldManager=me&force=true"},
			"delete":            {verb: http.MethodDelete, path: main},
			"delete by options": {verb: http.MethodDelete, path: main, body: `{"apiVersion":"v1","kind":"DeleteOptions","dryRun":["All"],"propagationPolicy":"Foreground"}`},
			"delete all":        {verb: http.MethodDelete, path: w.plural},
		}
		if w.kind != "ValkeyNode" {
			calls["scale"] = call{verb: http.MethodPatch, path: main + "/scale", contentType: mergePatch, body: `{"spec":{"replicas":7}}`}
		}
		for name, c := range calls {
			t.Run(w.kind+" "+name, func(t *testing.T) {
				c.namespace = namespace
				if name != "delete by options" {
					c.parameters += "&dryRun=All"
				}
				got := c.send(t)
				if got.code != http.StatusOK && got.code != http.StatusCreated {
					t.Errorf("%d %s", got.code, got.body)
				}
				if diff := cmp.Diff(before, snapshot(t, namespace)); diff != "" {
					t.Fatalf("stored:\n%s", diff)
				}
				if strings.HasSuffix(name, "update") || strings.HasSuffix(name, "merge") {
					where := w.specPath
					if strings.HasPrefix(name, "status") {
						where = w.statusPath
					}
					if value, _, _ := unstructured.NestedString(got.object(t).Object, where...); value != "changed" {
						t.Errorf("the answer does not show what would be: %s", got.body)
					}
				}
			})
		}
		// The rules hold in a dry run too.
		got := call{namespace: namespace, path: w.plural, body: asJSON(t, strings.Replace(w.manifest(", spec: {image: 'a b'}"), "name: a", "name: b", 1)), parameters: "dryRun=All"}.send(t)
		if got.code != http.StatusUnprocessableEntity {
			t.Errorf("%s: invalid, dry: %d", w.kind, got.code)
		}
	}
}
