// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package apiserver

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"
)

// post sends a manifest as kubectl does, and returns the answer's code and Status.
func post(t *testing.T, resource, manifest, parameters string) (int, metav1.Status, []string) {
	t.Helper()
	body, err := yaml.YAMLToJSON([]byte(manifest))
	if err != nil {
		t.Fatal(err)
	}
	return send(t, resource, string(body), "application/json", parameters)
}

func send(t *testing.T, resource, body, contentType, parameters string) (int, metav1.Status, []string) {
	t.Helper()
	path := "/apis/valkey.io/v1alpha1/namespaces/input/" + resource
	request := shared.client.ValkeyV1alpha1().RESTClient().Post().AbsPath(path).SetHeader("Content-Type", contentType).
		SetHeader("Accept", "application/json").Body([]byte(body)).MaxRetries(0)
	for _, parameter := range strings.Split(parameters, "&") {
		if name, value, ok := strings.Cut(parameter, "="); ok {
			request = request.Param(name, value)
		}
	}
	code := 0
	result := request.Do(t.Context()).StatusCode(&code)
	raw, _ := result.Raw()
	var status metav1.Status
	if code >= 300 {
		if err := json.Unmarshal(raw, &status); err != nil {
			t.Fatalf("the answer is no Status: %s", raw)
		}
	}
	var warnings []string
	for _, warning := range result.Warnings() {
		warnings = append(warnings, warning.Text)
	}
	return code, status, warnings
}

func TestInvalidManifestsAreRefusedWithTheFieldsPath(t *testing.T) {
	for name, c := range map[string]struct {
		resource, manifest string
		code               int
		text               string
	}{
		"Valkey: negative replicas": {"valkeys", "{metadata: {name: a}, spec: {replicas: -1}}", 422,
			`Valkey.valkey.io "a" is invalid: spec.replicas: Invalid value: -1: must be greater than or equal to 0`},
		"Valkey: two errors at once": {"valkeys", "{metadata: {name: a}, spec: {workloadType: Deployment, replicas: 1, persistence: {size: 1Gi}}}", 422,
			`[spec.replicas: Invalid value: 1: must be 0 with workloadType Deployment, spec.persistence: Forbidden: not with workloadType Deployment]`},
		"Valkey: bad name": {"valkeys", "{metadata: {name: a.b}}", 422,
			`Valkey.valkey.io "a.b" is invalid: metadata.name: Invalid value: "a.b": must not contain dots`},
		"Valkey: long name": {"valkeys", "{metadata: {name: " + strings.Repeat("n", 42) + "}}", 422, "must be no more than 41 characters"},
		"Valkey: not a quantity": {"valkeys", "{metadata: {name: a}, spec: {persistence: {size: large}}}", 400,
			"quantities must match the regular expression"},
		"Valkey: wrong type":   {"valkeys", "{metadata: {name: a}, spec: {replicas: three}}", 400, "cannot unmarshal string into Go struct field"},
		"Valkey: another kind": {"valkeys", "{apiVersion: v1, kind: Pod, metadata: {name: a}}", 400, `cannot be handled as a Valkey: no kind "Pod" is registered`},
		"Sentinel: two":        {"valkeysentinels", "{metadata: {name: a}, spec: {replicas: 2}}", 422, `spec.replicas: Invalid value: 2: must be greater than or equal to 3`},
		"Node: newline":        {"valkeynodes", "{metadata: {name: a}, spec: {config: {save: \"1\\n2\"}}}", 422, `spec.config[save]: Invalid value: "1\n2": must not hold control characters such as a newline`},
	} {
		t.Run(name, func(t *testing.T) {
			code, status, _ := post(t, c.resource, c.manifest, "")
			if code != c.code || !strings.Contains(status.Message, c.text) {
				t.Errorf("got %d %q\nwant %d with %q", code, status.Message, c.code, c.text)
			}
		})
	}
	if list, err := shared.client.ValkeyV1alpha1().Valkeys("input").List(t.Context(), metav1.ListOptions{}); err != nil || len(list.Items) != 0 {
		t.Errorf("%d refused objects are stored, %v", len(list.Items), err)
	}
}

func TestUnknownFields(t *testing.T) {
	manifest := "{metadata: {name: unknown}, spec: {colour: red}}"
	if code, status, _ := post(t, "valkeys", manifest, "fieldValidation=Strict&dryRun=All"); code != http.StatusBadRequest || !strings.Contains(status.Message, `unknown field "spec.colour"`) {
		t.Errorf("strict: %d %s", code, status.Message)
	}
	if code, _, warnings := post(t, "valkeys", manifest, "fieldValidation=Warn&dryRun=All"); code != http.StatusCreated || len(warnings) != 1 || warnings[0] != `unknown field "spec.colour"` {
		t.Errorf("warn: %d %q", code, warnings)
	}
	if code, _, warnings := post(t, "valkeys", manifest, "fieldValidation=Ignore&dryRun=All"); code != http.StatusCreated || len(warnings) != 0 {
		t.Errorf("ignore: %d %q", code, warnings)
	}
}

func TestWarningsReachTheClient(t *testing.T) {
	code, _, warnings := post(t, "valkeys", `{metadata: {name: warned}, spec: {replicas: 1, config: {port: "1"}}}`, "dryRun=All")
	want := []string{
		"spec.failover.mode: with None no replica is promoted when the primary is lost",
		"spec.persistence: without it the data are lost when the primary's pod is replaced",
		"spec.config[port]: ignored: the product decides where the server listens",
	}
	if code != http.StatusCreated || strings.Join(warnings, "\n") != strings.Join(want, "\n") {
		t.Errorf("got %d\n%s\nwant\n%s", code, strings.Join(warnings, "\n"), strings.Join(want, "\n"))
	}
	if _, _, warnings := post(t, "valkeys", `{metadata: {name: fine}, spec: {replicas: 2, failover: {mode: Sentinel}}}`, "dryRun=All"); len(warnings) != 0 {
		t.Errorf("a usual spec warns: %q", warnings)
	}
}

func TestMalformedRequests(t *testing.T) {
	for name, c := range map[string]struct {
		resource, body, contentType string
		code                        int
	}{
		"not JSON":               {"valkeys", "{", "application/json", 400},
		"an unknown type":        {"valkeys", "{}", "application/x-redis", 415},
		"too large":              {"valkeys", `{"metadata":{"name":"a","annotations":{"a":"` + strings.Repeat("x", 10<<20) + `"}}}`, "application/json", 413},
		"too deep":               {"valkeys", strings.Repeat(`{"spec":`, 20000) + "1" + strings.Repeat("}", 20000), "application/json", 400},
		"a resource of nobody":   {"valkeycastles", "{}", "application/json", 404},
		"a wrong verb":           {"valkeys/a/status", "{}", "application/json", 405},
		"a name in two forms":    {"valkeys/a/failover", `{"metadata":{"name":"b"}}`, "application/json", 400},
		"an unknown subresource": {"valkeys/a/explode", "{}", "application/json", 404},
		"protobuf that is none":  {"valkeys", "k8s\x00junk", "application/vnd.kubernetes.protobuf", 400},
	} {
		t.Run(name, func(t *testing.T) {
			code, status, _ := send(t, c.resource, c.body, c.contentType, "")
			if code != c.code {
				t.Errorf("got %d %.200q, want %d", code, status.Message, c.code)
			}
		})
	}
}
