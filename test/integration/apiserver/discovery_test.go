// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package apiserver

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestDiscovery(t *testing.T) {
	list, err := shared.client.Discovery().ServerResourcesForGroupVersion("valkey.io/v1alpha1")
	if err != nil {
		t.Fatal(err)
	}
	all := []string{"create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"}
	got := map[string][]string{}
	for _, resource := range list.APIResources {
		verbs := slices.Clone([]string(resource.Verbs))
		slices.Sort(verbs)
		got[resource.Name+" "+resource.Kind+" "+strings.Join(resource.ShortNames, ",")+" "+strings.Join(resource.Categories, ",")] = verbs
		for _, category := range resource.Categories {
			// kubectl expands a category before it looks for a resource of that name.
			if category == resource.Name || category == resource.SingularName || slices.Contains(resource.ShortNames, category) {
				t.Errorf("%s has a category of its own name %q: kubectl could not name one object", resource.Name, category)
			}
		}
		if !resource.Namespaced {
			t.Errorf("%s is not namespaced", resource.Name)
		}
	}
	writable := []string{"get", "patch", "update"}
	want := map[string][]string{
		"valkeys Valkey vk valkey-all,all":                  all,
		"valkeys/status Valkey  ":                           writable,
		"valkeys/scale Scale  ":                             writable,
		"valkeys/failover Failover  ":                       {"create"},
		"valkeys/proxy Valkey  ":                            {"get"},
		"valkeys/replication Replication  ":                 {"get"},
		"valkeysentinels ValkeySentinel vks valkey-all,all": all,
		"valkeysentinels/status ValkeySentinel  ":           writable,
		"valkeysentinels/scale Scale  ":                     writable,
		"valkeysentinels/failover Failover  ":               {"create"},
		"valkeysentinels/monitors MonitorList  ":            {"get"},
		"valkeynodes ValkeyNode vkn valkey-all,all":         all,
		"valkeynodes/status ValkeyNode  ":                   writable,
		"monitors Monitor  ":                                {"get", "list", "watch"},
		"failoverrequests FailoverRequest  ":                {"create"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("want (-), got (+):\n%s", diff)
	}
}

// Both documents are built at the first request, and their faults show only then.
func TestOpenAPI(t *testing.T) {
	for path, want := range map[string]string{
		"/openapi/v2":                         "com.github.valkeykube.valkeykube.pkg.apis.valkey.v1alpha1.ValkeySpec",
		"/openapi/v3/apis/valkey.io/v1alpha1": "com.github.valkeykube.valkeykube.pkg.apis.valkey.v1alpha1.ValkeySpec",
	} {
		raw, err := shared.client.RESTClient().Get().AbsPath(path).SetHeader("Accept", "application/json").DoRaw(t.Context())
		if err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		var document struct {
			Definitions map[string]any
			Components  struct{ Schemas map[string]schema }
		}
		if err := json.Unmarshal(raw, &document); err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		_, v2 := document.Definitions[want]
		_, v3 := document.Components.Schemas[want]
		if !v2 && !v3 {
			t.Errorf("%s does not define %s", path, want)
		}
		for name, schema := range document.Components.Schemas {
			if !strings.Contains(name, "valkeykube") {
				continue
			}
			for field, property := range schema.Properties {
				if property.Description == "" && field != "kind" && field != "apiVersion" {
					t.Errorf("%s.%s: kubectl explain has nothing to say", name, field)
				}
			}
		}
	}
}

type schema struct {
	Properties map[string]struct{ Description string }
}

func TestTablesHoldWhatKubectlPrints(t *testing.T) {
	makeObjects(t, "tables", "Sentinel", 2, 3)
	for resource, want := range map[string][]string{
		"valkeys":         {"Name", "State", "Reason", "Primary", "Ready", "Synced", "Monitored-By", "Age", "Address", "Image", "Quorum", "Last-Failover"},
		"valkeysentinels": {"Name", "State", "Reason", "Ready", "Monitors", "Quorum-OK", "Age", "Image"},
		"valkeynodes":     {"Name", "Ready", "Role", "Replica-Of", "Pod", "IP", "Age", "Valkey", "Image"},
	} {
		table := &metav1.Table{}
		err := shared.client.ValkeyV1alpha1().RESTClient().Get().Namespace("tables").Resource(resource).
			SetHeader("Accept", "application/json;as=Table;g=meta.k8s.io;v=v1").Do(t.Context()).Into(table)
		if err != nil {
			t.Fatal(err)
		}
		var names []string
		for _, column := range table.ColumnDefinitions {
			names = append(names, column.Name)
		}
		if diff := cmp.Diff(want, names); diff != "" {
			t.Errorf("%s: want (-), got (+):\n%s", resource, diff)
		}
		if len(table.Rows) == 0 || table.ResourceVersion == "" {
			t.Errorf("%s: %d rows at version %q", resource, len(table.Rows), table.ResourceVersion)
		}
	}
}
