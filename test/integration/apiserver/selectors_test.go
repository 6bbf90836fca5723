// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package apiserver

import (
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"

	"github.com/valkeykube/valkeykube/pkg/apis/valkey/v1alpha1"
)

// selection is a selector, and a change by which the object "a" comes to match it or ceases to.
type selection struct {
	plural, spec, selector, path, enter, leave string
}

var selections = []selection{
	{"valkeys", "{}", "status.state=Ready", "/status", "{status: {state: Ready}}", "{status: {state: Failed}}"},
	{"valkeys", "{}", "status.state!=,status.state!=Failed", "/status", "{status: {state: Degraded}}", "{status: {state: Failed}}"},
	{"valkeys", "{}", "status.primary=a-1", "/status", "{status: {primary: a-1}}", "{status: {primary: a-0}}"},
	{"valkeys", "{}", "spec.failover.mode=Operator", "", "{spec: {failover: {mode: Operator}}}", "{spec: {failover: {mode: None}}}"},
	{"valkeysentinels", "{}", "status.state=Ready", "/status", "{status: {state: Ready}}", "{status: {state: null}}"},
	{"valkeynodes", "{}", "status.role=primary", "/status", "{status: {role: primary}}", "{status: {role: replica}}"},
	{"valkeynodes", "{valkey: v}", "spec.valkey=v,status.role=primary,metadata.name=a", "/status", "{status: {role: primary}}", "{status: {role: unknown}}"},
}

func resourceOf(t *testing.T, plural string) dynamic.NamespaceableResourceInterface {
	t.Helper()
	client, err := dynamic.NewForConfig(shared.config)
	if err != nil {
		t.Fatal(err)
	}
	return client.Resource(v1alpha1.SchemeGroupVersion.WithResource(plural))
}

func TestFieldSelectors(t *testing.T) {
	for _, s := range selections {
		t.Run(s.plural+" "+s.selector, func(t *testing.T) {
			namespace := "selectors-" + s.plural
			resource := resourceOf(t, s.plural).Namespace(namespace)
			create(t, namespace, s.plural, "{metadata: {name: a}, spec: "+s.spec+"}")
			create(t, namespace, s.plural, "{metadata: {name: b}}")
			defer func() {
				call{verb: http.MethodDelete, namespace: namespace, path: s.plural}.send(t)
			}()
			watcher, err := resource.Watch(t.Context(), metav1.ListOptions{FieldSelector: s.selector})
			if err != nil {
				t.Fatal(err)
			}
			defer watcher.Stop()
			for _, step := range []struct {
				change string
				event  watch.EventType
				found  []string
			}{
				{s.enter, watch.Added, []string{"a"}},
				{s.leave, watch.Deleted, nil},
			} {
				if got := patch(t, namespace, s.plural+"/a"+s.path, step.change); got.code != http.StatusOK {
					t.Fatalf("%d %s", got.code, got.body)
				}
				expectEvent(t, watcher, step.event, "a")
				for _, version := range []string{"", "0"} {
					list, err := resource.List(t.Context(), metav1.ListOptions{FieldSelector: s.selector, ResourceVersion: version})
					if err != nil {
						t.Fatal(err)
					}
					var names []string
					for _, item := range list.Items {
						names = append(names, item.GetName())
					}
					if diff := cmp.Diff(step.found, names); diff != "" {
						t.Errorf("list at version %q: want (-), got (+):\n%s", version, diff)
					}
				}
			}
		})
	}
}

func expectEvent(t *testing.T, watcher watch.Interface, kind watch.EventType, name string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	select {
	case event := <-watcher.ResultChan():
		object, ok := event.Object.(*unstructured.Unstructured)
		if !ok || event.Type != kind || object.GetName() != name {
			t.Errorf("got %s, want %s of %s: %+v", event.Type, kind, name, event.Object)
		}
	case <-ctx.Done():
		t.Fatalf("no %s event", kind)
	}
}

func TestFieldsThatCannotBeSelectedBy(t *testing.T) {
	for plural, c := range map[string]struct{ selector, want string }{
		"valkeys":         {"spec.image=x", `a Valkey cannot be selected by the field "spec.image", only by metadata.name, metadata.namespace, spec.failover.mode, status.primary, status.state`},
		"valkeysentinels": {"spec.replicas=3", `a ValkeySentinel cannot be selected by the field "spec.replicas", only by metadata.name, metadata.namespace, status.state`},
		"valkeynodes":     {"monitor=x", `a ValkeyNode cannot be selected by the field "monitor", only by metadata.name, metadata.namespace, spec.valkey, status.role`},
	} {
		for name, request := range map[string]call{
			"list":       {verb: http.MethodGet},
			"watch":      {verb: http.MethodGet, parameters: "watch=true&timeoutSeconds=1&"},
			"delete all": {verb: http.MethodDelete},
		} {
			t.Run(plural+" "+name, func(t *testing.T) {
				request.namespace, request.path = "selectors", plural
				request.parameters += "fieldSelector=" + c.selector
				if got := request.send(t); got.code != http.StatusBadRequest || got.status.Message != c.want {
					t.Errorf("%d %q, want %q", got.code, got.status.Message, c.want)
				}
			})
		}
	}
	// What the server itself looks up by is not offered.
	got := call{verb: http.MethodGet, namespace: "selectors", path: "valkeys", parameters: "fieldSelector=monitor=selectors/x"}.send(t)
	if got.code != http.StatusBadRequest {
		t.Errorf("monitor: %d", got.code)
	}
}

func TestTablesOfObjectsWithAStatus(t *testing.T) {
	const namespace = "table-rows"
	failover := time.Now().Add(-90 * time.Minute).UTC().Format(time.RFC3339)
	for plural, c := range map[string]struct {
		spec, status string
		want         []any
	}{
		"valkeys": {"{replicas: 2, image: server, failover: {mode: Sentinel}}",
			"{state: Degraded, reason: PodsNotReady, primary: a-1, primaryAddress: 'host:6379', readyReplicas: 2, syncedReplicas: 1, monitoring: {sentinel: watch, quorum: 2, availableQuorum: 3}, lastFailover: {from: a-0, to: a-1, cause: Sentinel, startedAt: '" + failover + "'}}",
			[]any{"a", "Degraded", "PodsNotReady", "a-1", "2/3", "1/2", "watch", "host:6379", "server", "2/3", "90m (Sentinel)"}},
		"valkeysentinels": {"{image: server}", "{state: Ready, reason: AsExpected, readyReplicas: 3, monitors: [{name: a, ok: true}, {name: b}]}",
			[]any{"a", "Ready", "AsExpected", "3/3", float64(2), "1/2", "server"}},
		"valkeynodes": {"{valkey: v, image: server}", "{ready: true, role: replica, replicaOf: 'host:6379', podName: pod, podIP: 10.0.0.1}",
			[]any{"a", true, "replica", "host:6379", "pod", "10.0.0.1", "v", "server"}},
	} {
		t.Run(plural, func(t *testing.T) {
			create(t, namespace, plural, "{metadata: {name: a}, spec: "+c.spec+"}")
			if got := patch(t, namespace, plural+"/a/status", "{status: "+c.status+"}"); got.code != http.StatusOK {
				t.Fatalf("%d %s", got.code, got.body)
			}
			tables := map[string]metav1.Table{}
			for name, path := range map[string]string{"get": plural + "/a", "list": plural} {
				var table metav1.Table
				got := call{verb: http.MethodGet, namespace: namespace, path: path, accept: asTable}.send(t)
				if err := json.Unmarshal(got.body, &table); err != nil {
					t.Fatal(err)
				}
				tables[name] = table
			}
			var event struct{ Object metav1.Table }
			rows := call{verb: http.MethodGet, namespace: namespace, path: plural, accept: asTable, parameters: "watch=true&timeoutSeconds=1"}.send(t)
			if err := json.Unmarshal(rows.body, &event); err != nil {
				t.Fatalf("%v: %s", err, rows.body)
			}
			tables["watch"] = event.Object
			for name, table := range tables {
				age := slices.IndexFunc(table.ColumnDefinitions, func(column metav1.TableColumnDefinition) bool { return column.Name == "Age" })
				if len(table.Rows) != 1 || age < 0 {
					t.Fatalf("%s: %+v", name, table)
				}
				if diff := cmp.Diff(c.want, slices.Delete(table.Rows[0].Cells, age, age+1)); diff != "" {
					t.Errorf("%s: want (-), got (+):\n%s", name, diff)
				}
			}
		})
	}
}
