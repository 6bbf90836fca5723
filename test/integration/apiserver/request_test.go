// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package apiserver

import (
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"
)

// call is one request as it goes over the wire.
type call struct {
	// verb is the HTTP method; empty is POST.
	verb string
	// path is absolute, or below a namespace's resources.
	namespace, path string
	// contentType of the body; empty is application/json.
	contentType, body string
	// accept is what the answer shall be; empty is application/json.
	accept string
	// parameters of the query.
	parameters string
}

// answer is what came back.
type answer struct {
	code     int
	body     []byte
	warnings []string
	// status is the Status in the body of an answer that is none of success.
	status metav1.Status
}

func (c call) send(t *testing.T) answer {
	t.Helper()
	path := c.path
	if !strings.HasPrefix(path, "/") {
		path = "/apis/valkey.io/v1alpha1/namespaces/" + c.namespace + "/" + path
	}
	accept := c.accept
	if accept == "" {
		accept = "application/json"
	}
	verb := c.verb
	if verb == "" {
		verb = http.MethodPost
	}
	request := shared.client.ValkeyV1alpha1().RESTClient().Verb(verb).AbsPath(path).SetHeader("Accept", accept).MaxRetries(0)
	if c.body != "" {
		contentType := c.contentType
		if contentType == "" {
			contentType = "application/json"
		}
		request = request.SetHeader("Content-Type", contentType).Body([]byte(c.body))
	}
	parameters, err := url.ParseQuery(c.parameters)
	if err != nil {
		t.Fatal(err)
	}
	for name, values := range parameters {
		for _, value := range values {
			request = request.Param(name, value)
		}
	}
	var got answer
	result := request.Do(t.Context()).StatusCode(&got.code)
	got.body, _ = result.Raw()
	for _, warning := range result.Warnings() {
		got.warnings = append(got.warnings, warning.Text)
	}
	if got.code >= 300 {
		if err := json.Unmarshal(got.body, &got.status); err != nil || got.status.Kind != "Status" || int(got.status.Code) != got.code {
			t.Errorf("%s %s: %d is answered with no Status: %.200q", verb, c.path, got.code, got.body)
		}
	}
	return got
}

// errors are the causes of a refusal, as field.Error writes them.
func (a answer) errors() []string {
	var errors []string
	if a.status.Details != nil {
		for _, cause := range a.status.Details.Causes {
			errors = append(errors, cause.Field+": "+cause.Message)
		}
	}
	return errors
}

// asJSON is a manifest as kubectl sends it.
func asJSON(t *testing.T, manifest string) string {
	t.Helper()
	body, err := yaml.YAMLToJSON([]byte(manifest))
	if err != nil {
		t.Fatal(err)
	}
	return string(body)
}

// create makes an object from a manifest, and returns the warnings.
func create(t *testing.T, namespace, resource, manifest string) []string {
	t.Helper()
	got := call{namespace: namespace, path: resource, body: asJSON(t, manifest)}.send(t)
	if got.code != http.StatusCreated {
		t.Fatalf("%s\n%d %s", manifest, got.code, got.body)
	}
	return got.warnings
}

// patch merges into an object.
func patch(t *testing.T, namespace, path, change string) answer {
	t.Helper()
	return call{verb: http.MethodPatch, namespace: namespace, path: path, contentType: "application/merge-patch+json", body: asJSON(t, change)}.send(t)
}

// post sends a manifest as kubectl does, and returns the answer's code and Status.
func post(t *testing.T, resource, manifest, parameters string) (int, metav1.Status, []string) {
	t.Helper()
	got := call{namespace: "input", path: resource, body: asJSON(t, manifest), parameters: parameters}.send(t)
	return got.code, got.status, got.warnings
}
