// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package apiserver

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// atomicLists have no key: what their elements say cannot be told apart, or their order matters.
var atomicLists = []string{
	"ExporterSpec.args", "NetworkPolicySpec.clients", "SchedulingSpec.tolerations", "MonitorList.monitors",
}

func TestListsAreMergedByKey(t *testing.T) {
	type property struct {
		Type     string   `json:"type"`
		ListType string   `json:"x-kubernetes-list-type"`
		ListKeys []string `json:"x-kubernetes-list-map-keys"`
	}
	var document struct {
		Components struct {
			Schemas map[string]struct {
				Properties map[string]property `json:"properties"`
			} `json:"schemas"`
		} `json:"components"`
	}
	got := call{verb: http.MethodGet, path: "/openapi/v3/apis/valkey.io/v1alpha1"}.send(t)
	if err := json.Unmarshal(got.body, &document); err != nil {
		t.Fatal(err)
	}
	seen := 0
	for name, schema := range document.Components.Schemas {
		_, kind, ours := strings.Cut(name, "valkeykube.pkg.apis.valkey.v1alpha1.")
		if !ours {
			continue
		}
		for field, of := range schema.Properties {
			if of.Type != "array" || field == "items" && strings.HasSuffix(kind, "List") {
				continue
			}
			seen++
			switch path := kind + "." + field; {
			case of.ListType == "map" && len(of.ListKeys) > 0, of.ListType == "set":
			case slices.Contains(atomicLists, path):
			default:
				t.Errorf("%s is a list of type %q with keys %v", path, of.ListType, of.ListKeys)
			}
		}
	}
	if seen < 15 {
		t.Errorf("only %d lists", seen)
	}
}

func TestTwoManagersShareEveryListThatIsMergedByKey(t *testing.T) {
	const namespace = "shared-lists"
	for path, elements := range map[string][2]string{
		"valkeys spec.users":                                {"{name: a, nopass: true}", "{name: b, nopass: true}"},
		"valkeys spec.containers":                           {"{name: a, image: i}", "{name: b, image: i}"},
		"valkeys spec.imagePullSecrets":                     {"{name: a}", "{name: b}"},
		"valkeys spec.scheduling.topologySpreadConstraints": {"{topologyKey: a, whenUnsatisfiable: DoNotSchedule, maxSkew: 1}", "{topologyKey: b, whenUnsatisfiable: DoNotSchedule, maxSkew: 1}"},
		"valkeys spec.scheduling.zone.pinning.zones":        {"a", "b"},
		"valkeysentinels spec.users":                        {"{name: a, nopass: true}", "{name: b, nopass: true}"},
		"valkeysentinels spec.containers":                   {"{name: a, image: i}", "{name: b, image: i}"},
		"valkeysentinels spec.imagePullSecrets":             {"{name: a}", "{name: b}"},
		"valkeynodes spec.containers":                       {"{name: a, image: i}", "{name: b, image: i}"},
		"valkeynodes spec.imagePullSecrets":                 {"{name: a}", "{name: b}"},
		"valkeys/status status.members":                     {"{node: a}", "{node: b}"},
		"valkeysentinels/status status.monitors":            {"{name: a}", "{name: b}"},
		"valkeys/status status.conditions":                  {"{type: A, status: 'True', reason: R, message: '', lastTransitionTime: '2026-01-02T03:04:05Z'}", "{type: B, status: 'True', reason: R, message: '', lastTransitionTime: '2026-01-02T03:04:05Z'}"},
	} {
		t.Run(path, func(t *testing.T) {
			endpoint, path, _ := strings.Cut(path, " ")
			plural, subresource, _ := strings.Cut(endpoint, "/")
			fields := strings.Split(path, ".")
			kind := ""
			for name, of := range pluralOf {
				if of == plural {
					kind = name
				}
			}
			name := strings.ToLower(fields[len(fields)-1])
			apply := func(manager, list string) []any {
				t.Helper()
				body := "{apiVersion: valkey.io/v1alpha1, kind: " + kind + ", metadata: {name: " + name + "}"
				if list != "" {
					body += ", " + strings.Join(fields, ": {") + ": [" + list + "]" + strings.Repeat("}", len(fields)-1)
				}
				request := call{verb: http.MethodPatch, namespace: namespace, path: plural + "/" + name, contentType: applyPatch, body: body + "}", parameters: "fieldManager=" + manager}
				if subresource != "" {
					request.path += "/" + subresource
				}
				found, _, _ := unstructured.NestedSlice(request.send(t).object(t).Object, fields...)
				return found
			}
			if subresource != "" {
				create(t, namespace, plural, "{metadata: {name: "+name+"}}")
			}
			if got := apply("first", elements[0]); len(got) != 1 {
				t.Fatalf("got %v", got)
			}
			both := apply("second", elements[1])
			if len(both) != 2 {
				t.Errorf("the second has replaced the first: %v", both)
			}
			if left := apply("first", ""); len(left) != 1 || len(both) == 2 && !cmp.Equal(left[0], both[1]) {
				t.Errorf("after the first has gone: %v of %v", left, both)
			}
		})
	}
}
