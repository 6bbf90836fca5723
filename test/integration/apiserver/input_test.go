// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package apiserver

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/valkeykube/valkeykube/pkg/valkeyclient/valkeytest"
)

const (
	strategicMerge = "application/strategic-merge-patch+json"
	mergePatch     = "application/merge-patch+json"
	jsonPatch      = "application/json-patch+json"
	applyPatch     = "application/apply-patch+yaml"
)

var pluralOf = map[string]string{"Valkey": "valkeys", "ValkeySentinel": "valkeysentinels", "ValkeyNode": "valkeynodes"}

// The same table is given to the rules themselves beside it.
func TestRulesOnCreate(t *testing.T) {
	text, err := os.ReadFile("../../../pkg/apis/valkey/v1alpha1/testdata/rules.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var rules []struct {
		Kind, About, Manifest string
		Errors, Warnings      []string
	}
	if err := yaml.UnmarshalStrict(text, &rules); err != nil {
		t.Fatal(err)
	}
	refused := 0
	for _, rule := range rules {
		t.Run(rule.Kind+" "+rule.About, func(t *testing.T) {
			parameters := "fieldValidation=Strict"
			if len(rule.Errors) == 0 {
				parameters += "&dryRun=All"
			} else {
				refused++
			}
			manifest := "apiVersion: valkey.io/v1alpha1\nkind: " + rule.Kind + "\nmetadata: {name: rule}\n" + rule.Manifest
			got := call{namespace: "rules", path: pluralOf[rule.Kind], body: asJSON(t, manifest), parameters: parameters}.send(t)
			errors := got.errors()
			slices.Sort(errors)
			slices.Sort(rule.Errors)
			if diff := cmp.Diff(rule.Errors, errors); diff != "" {
				t.Errorf("%d, errors: want (-), got (+):\n%s", got.code, diff)
			}
			if diff := cmp.Diff(rule.Warnings, got.warnings); diff != "" {
				t.Errorf("%d, warnings: want (-), got (+):\n%s", got.code, diff)
			}
			if want := map[bool]int{true: http.StatusCreated, false: http.StatusUnprocessableEntity}[len(rule.Errors) == 0]; got.code != want {
				t.Errorf("got %d, want %d: %s", got.code, want, got.body)
			}
		})
	}
	if refused < 60 {
		t.Errorf("only %d invalid manifests", refused)
	}
	for _, plural := range pluralOf {
		if stored := storedUnder(t, plural, "rules"); len(stored) != 0 {
			t.Errorf("stored: %v", stored)
		}
	}
}

func TestWhatTheRulesOnFieldsDoNotSee(t *testing.T) {
	long := func(length int) string { return strings.Repeat("n", length) }
	for name, c := range map[string]struct {
		resource, manifest string
		code               int
		want               string
	}{
		"a name with a dot": {"valkeys", "{metadata: {name: a.b}}", 422,
			`Valkey.valkey.io "a.b" is invalid: metadata.name: Invalid value: "a.b": must not contain dots`},
		"a name in capitals": {"valkeysentinels", "{metadata: {name: Watch}}", 422,
			`ValkeySentinel.valkey.io "Watch" is invalid: metadata.name: Invalid value: "Watch": a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')`},
		"a Valkey's long name": {"valkeys", "{metadata: {name: " + long(42) + "}}", 422,
			`Valkey.valkey.io "` + long(42) + `" is invalid: metadata.name: Invalid value: "` + long(42) + `": must be no more than 41 characters, so that the names of what is made for it are DNS labels; it has 42`},
		"a Sentinel's long name": {"valkeysentinels", "{metadata: {name: " + long(37) + "}}", 422,
			`ValkeySentinel.valkey.io "` + long(37) + `" is invalid: metadata.name: Invalid value: "` + long(37) + `": must be no more than 36 characters, so that the names of what is made for it are DNS labels; it has 37`},
		"a node's long name": {"valkeynodes", "{metadata: {name: " + long(46) + "}}", 422,
			`ValkeyNode.valkey.io "` + long(46) + `" is invalid: metadata.name: Invalid value: "` + long(46) + `": must be no more than 45 characters, so that the names of what is made for it are DNS labels; it has 46`},
		"no name": {"valkeys", "{metadata: {}}", 422,
			`Valkey.valkey.io "" is invalid: metadata.name: Required value: name or generateName is required`},
		"a bad label": {"valkeys", `{metadata: {name: a, labels: {a: "b c"}}}`, 422,
			`Valkey.valkey.io "a" is invalid: metadata.labels: Invalid value: "b c": a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')`},
		"another namespace": {"valkeys", "{metadata: {name: a, namespace: elsewhere}}", 400,
			`the namespace of the provided object does not match the namespace sent on the request`},
		"a list without end": {"valkeys", "{metadata: {name: a}, spec: {users: [" + strings.Repeat("{name: a},", 20000) + "]}}", 422,
			`Valkey.valkey.io "a" is invalid: spec.users: Too many: 20000: must have at most 1000 items`},
		"a resourceVersion": {"valkeys", `{metadata: {name: a, resourceVersion: "1"}}`, 400, `resourceVersion should not be set on objects to be created`},
		"not a quantity": {"valkeys", "{metadata: {name: a}, spec: {persistence: {size: large}}}", 400,
			`Valkey in version "v1alpha1" cannot be handled as a Valkey: quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'`},
		"not a duration": {"valkeys", "{metadata: {name: a}, spec: {rollingUpdate: {syncTimeout: soon}}}", 400,
			`Valkey in version "v1alpha1" cannot be handled as a Valkey: time: invalid duration "soon"`},
		"not a number": {"valkeys", "{metadata: {name: a}, spec: {replicas: three}}", 400,
			`Valkey in version "v1alpha1" cannot be handled as a Valkey: json: cannot unmarshal string into Go struct field ValkeySpec.spec.replicas of type int32`},
		"more than an int32": {"valkeys", "{metadata: {name: a}, spec: {replicas: 4294967297}}", 400,
			`Valkey in version "v1alpha1" cannot be handled as a Valkey: json: cannot unmarshal number 4294967297 into Go struct field ValkeySpec.spec.replicas of type int32`},
		"a list for a map": {"valkeys", "{metadata: {name: a}, spec: {config: [a]}}", 400,
			`Valkey in version "v1alpha1" cannot be handled as a Valkey: json: cannot unmarshal array into Go struct field ValkeySpec.spec.config of type map[string]string`},
		"a number for a string": {"valkeys", "{metadata: {name: a}, spec: {config: {port: 1}}}", 400,
			`Valkey in version "v1alpha1" cannot be handled as a Valkey: json: cannot unmarshal number into Go struct field ValkeySpec.spec.config of type string`},
		"another kind": {"valkeys", "{apiVersion: v1, kind: Pod, metadata: {name: a}}", 400,
			`Pod in version "v1" cannot be handled as a Valkey: no kind "Pod" is registered for version "v1" in scheme`},
		"another version": {"valkeys", "{apiVersion: valkey.io/v9, kind: Valkey, metadata: {name: a}}", 400,
			`Valkey in version "v9" cannot be handled as a Valkey: no kind "Valkey" is registered for version "valkey.io/v9" in scheme`},
		"another kind of the group": {"valkeys", "{apiVersion: valkey.io/v1alpha1, kind: ValkeyNode, metadata: {name: a}}", 400,
			`ValkeyNode in version "v1alpha1" cannot be handled as a Valkey: converting (v1alpha1.ValkeyNode) to (valkey.Valkey): unknown conversion`},
	} {
		t.Run(name, func(t *testing.T) {
			code, status, _ := post(t, c.resource, c.manifest, "")
			if code != c.code || !strings.HasPrefix(status.Message, c.want) {
				t.Errorf("got  %d %s\nwant %d %s", code, status.Message, c.code, c.want)
			}
		})
	}
	if stored := storedUnder(t, "valkeys", "input"); len(stored) != 0 {
		t.Errorf("stored: %v", stored)
	}
}

func TestUnknownFields(t *testing.T) {
	const namespace = "unknown-fields"
	for kind, plural := range pluralOf {
		head := "{apiVersion: valkey.io/v1alpha1, kind: " + kind + ", metadata: {name: there}, "
		create(t, namespace, plural, head+"spec: {}}")
		twice := `{"apiVersion":"valkey.io/v1alpha1","kind":"` + kind + `","metadata":{"name":"new"},"spec":{"image":"a","image":"b"}}`
		for name, c := range map[string]struct {
			call
			code int
			want string
		}{
			"create": {call{path: plural, body: asJSON(t, strings.Replace(head, "there", "new", 1)+"spec: {colour: red}}")}, 201, `unknown field "spec.colour"`},
			"twice":  {call{path: plural, body: twice}, 201, `duplicate field "spec.image"`},
			"update": {call{verb: http.MethodPut, path: plural + "/there", body: asJSON(t, head+"spec: {exporter: {colour: red}}}")}, 200, `unknown field "spec.exporter.colour"`},
			"merge":  {call{verb: http.MethodPatch, path: plural + "/there", contentType: mergePatch, body: `{"spec":{"colour":"red"}}`}, 200, `unknown field "spec.colour"`},
			"patch":  {call{verb: http.MethodPatch, path: plural + "/there", contentType: jsonPatch, body: `[{"op":"add","path":"/spec/colour","value":"red"}]`}, 200, `unknown field "spec.colour"`},
			"status": {call{verb: http.MethodPatch, path: plural + "/there/status", contentType: mergePatch, body: `{"status":{"colour":"red"}}`}, 200, `unknown field "status.colour"`},
		} {
			t.Run(kind+" "+name, func(t *testing.T) {
				request := c.call
				request.namespace = namespace
				request.parameters = "dryRun=All&fieldValidation=Strict"
				refusal := http.StatusBadRequest
				if c.verb == http.MethodPatch {
					refusal = http.StatusUnprocessableEntity
				}
				if got := request.send(t); got.code != refusal || !strings.Contains(got.status.Message, "strict decoding error: "+c.want) {
					t.Errorf("strict: %d %s", got.code, got.body)
				}
				request.parameters = "dryRun=All&fieldValidation=Warn"
				if got := request.send(t); got.code != c.code || !slices.Contains(got.warnings, c.want) {
					t.Errorf("warn: %d %q", got.code, got.warnings)
				}
				request.parameters = "dryRun=All&fieldValidation=Ignore"
				if got := request.send(t); got.code != c.code || slices.Contains(got.warnings, c.want) {
					t.Errorf("ignore: %d %q", got.code, got.warnings)
				}
			})
		}
		t.Run(kind+" apply", func(t *testing.T) {
			got := call{
				verb: http.MethodPatch, namespace: namespace, path: plural + "/there", contentType: applyPatch,
				body: head + "spec: {colour: red}}", parameters: "dryRun=All&fieldManager=me",
			}.send(t)
			if got.code != http.StatusBadRequest && got.code != http.StatusInternalServerError || !strings.Contains(got.status.Message, ".spec.colour: field not declared in schema") {
				t.Errorf("%d %s", got.code, got.body)
			}
		})
	}
}

func malformed(t *testing.T) map[string]struct {
	call
	code int
} {
	t.Helper()
	type c = struct {
		call
		code int
	}
	return map[string]c{
		"not JSON":                     {call{path: "valkeys", body: "{"}, 400},
		"not an object":                {call{path: "valkeys", body: "7"}, 400},
		"nothing":                      {call{path: "valkeys"}, 400},
		"an unknown type":              {call{path: "valkeys", body: "{}", contentType: "application/x-redis"}, 415},
		"an unknown type of a patch":   {call{verb: http.MethodPatch, path: "valkeys/a", body: "{}", contentType: "application/json"}, 415},
		"a type that is none":          {call{path: "valkeys", body: "{}", contentType: ";;;"}, 415},
		"an answer nobody can give":    {call{verb: http.MethodGet, path: "valkeys", accept: "image/png"}, 406},
		"too large":                    {call{path: "valkeys", body: `{"metadata":{"name":"a","annotations":{"a":"` + strings.Repeat("x", 10<<20) + `"}}}`}, 413},
		"too large a patch":            {call{verb: http.MethodPatch, path: "valkeys/there", contentType: mergePatch, body: `{"metadata":{"annotations":{"a":"` + strings.Repeat("x", 10<<20) + `"}}}`}, 413},
		"too large, in protobuf":       {call{path: "valkeys", contentType: "application/vnd.kubernetes.protobuf", body: "k8s\x00" + strings.Repeat("x", 10<<20)}, 413},
		"too deep":                     {call{path: "valkeys", body: strings.Repeat(`{"spec":`, 20000) + "1" + strings.Repeat("}", 20000)}, 400},
		"too deep a list":              {call{path: "valkeys", body: `{"spec":` + strings.Repeat("[", 100000) + strings.Repeat("]", 100000) + "}"}, 400},
		"too deep YAML":                {call{path: "valkeys", contentType: "application/yaml", body: strings.Repeat("[", 20000) + strings.Repeat("]", 20000)}, 400},
		"YAML that grows":              {call{path: "valkeys", contentType: "application/yaml", body: bomb()}, 400},
		"too deep a patch":             {call{verb: http.MethodPatch, path: "valkeys/there", contentType: mergePatch, body: strings.Repeat(`{"spec":`, 20000) + "1" + strings.Repeat("}", 20000)}, 400},
		"a patch that is none":         {call{verb: http.MethodPatch, path: "valkeys/there", contentType: jsonPatch, body: `{"spec":{}}`}, 400},
		"a patch of what is not there": {call{verb: http.MethodPatch, path: "valkeys/there", contentType: jsonPatch, body: `[{"op":"remove","path":"/spec/nothing"}]`}, 422},
		"a patch of too many steps":    {call{verb: http.MethodPatch, path: "valkeys/there", contentType: jsonPatch, body: "[" + strings.Repeat(`{"op":"test","path":"/kind","value":"Valkey"},`, 10001) + `{"op":"test","path":"/kind","value":"Valkey"}]`}, 413},
		"a patch without a test's end": {call{verb: http.MethodPatch, path: "valkeys/there", contentType: jsonPatch, body: `[{"op":"test","path":"/kind","value":"Pod"}]`}, 422},
		"an apply without a manager":   {call{verb: http.MethodPatch, path: "valkeys/there", contentType: applyPatch, body: "{apiVersion: valkey.io/v1alpha1, kind: Valkey, metadata: {name: there}}"}, 422},
		"a resource of nobody":         {call{path: "valkeycastles", body: "{}"}, 404},
		"a version of nobody":          {call{verb: http.MethodGet, path: "/apis/valkey.io/v9/namespaces/malformed/valkeys"}, 404},
		"an unknown subresource":       {call{path: "valkeys/there/explode", body: "{}"}, 404},
		"a subresource of another":     {call{verb: http.MethodGet, path: "valkeynodes/there/scale"}, 404},
		"below a subresource":          {call{verb: http.MethodGet, path: "valkeys/there/status/more"}, 404},
		"a wrong verb for status":      {call{path: "valkeys/there/status", body: "{}"}, 405},
		"a deletion of a status":       {call{verb: http.MethodDelete, path: "valkeys/there/status"}, 405},
		"a wrong verb for failover":    {call{verb: http.MethodGet, path: "valkeys/there/failover"}, 405},
		"a wrong verb for scale":       {call{path: "valkeys/there/scale", body: "{}"}, 405},
		"a wrong verb for a list":      {call{verb: http.MethodPut, path: "valkeys", body: "{}"}, 405},
		"a verb of nobody":             {call{verb: "BREW", path: "valkeys"}, 405},
		"another name in the body":     {call{verb: http.MethodPut, path: "valkeys/there", body: `{"metadata":{"name":"b"}}`}, 400},
		"a name in two forms":          {call{path: "valkeys/there/failover", body: `{"metadata":{"name":"b"}}`}, 400},
		"a misspelt field, failover":   {call{path: "valkeys/there/failover", body: `{"spec":{"target":"b"}}`}, 400},
		"a misspelt field, request":    {call{path: "failoverrequests", body: `{"spec":{"valkey":"there","target":"b"}}`}, 400},
		"an update of what is missing": {call{verb: http.MethodPut, path: "valkeys/missing", body: `{"metadata":{"name":"missing"}}`}, 404},
		"another kind through status":  {call{verb: http.MethodPut, path: "valkeys/there/status", body: `{"apiVersion":"v1","kind":"Pod","metadata":{"name":"there"}}`}, 400},
		"a Valkey as a Scale":          {call{verb: http.MethodPut, path: "valkeys/there/scale", body: `{"apiVersion":"valkey.io/v1alpha1","kind":"Valkey","metadata":{"name":"there"}}`}, 400},
		"protobuf that is none":        {call{path: "valkeys", body: "k8s\x00junk", contentType: "application/vnd.kubernetes.protobuf"}, 400},
		"protobuf without its mark":    {call{path: "valkeys", body: "junk", contentType: "application/vnd.kubernetes.protobuf"}, 400},
		"a stale resourceVersion":      {call{verb: http.MethodPut, path: "valkeys/there", body: `{"metadata":{"name":"there","resourceVersion":"1"}}`}, 409},
		"a resourceVersion of words":   {call{verb: http.MethodGet, path: "valkeys", parameters: "resourceVersion=yesterday"}, 400},
		"a limit of words":             {call{verb: http.MethodGet, path: "valkeys", parameters: "limit=few"}, 400},
		"a token of nobody":            {call{verb: http.MethodGet, path: "valkeys", parameters: "continue=forged"}, 400},
		"a bad label selector":         {call{verb: http.MethodGet, path: "valkeys", parameters: "labelSelector=a=b=c"}, 400},
		"a bad dry run":                {call{path: "valkeys", body: `{"metadata":{"name":"a"}}`, parameters: "dryRun=Some"}, 422},
		"a bad field validation":       {call{path: "valkeys", body: `{"metadata":{"name":"a"}}`, parameters: "fieldValidation=Lax"}, 422},
	}
}

// bomb is YAML whose aliases would unfold to a billion words.
func bomb() string {
	text := "a: &a [x,x,x,x,x,x,x,x,x]\n"
	for name := byte('b'); name <= 'j'; name++ {
		of := "*" + string(name-1)
		text += string(name) + ": &" + string(name) + " [" + strings.Repeat(of+",", 8) + of + "]\n"
	}
	return text
}

func TestMalformedRequests(t *testing.T) {
	create(t, "malformed", "valkeys", "{metadata: {name: there}}")
	create(t, "malformed", "valkeynodes", "{metadata: {name: there}}")
	before := call{verb: http.MethodGet, namespace: "malformed", path: "valkeys/there"}.send(t)
	for name, c := range malformed(t) {
		t.Run(name, func(t *testing.T) {
			request := c.call
			request.namespace = "malformed"
			got := request.send(t)
			if got.code != c.code || got.status.Message == "" || got.status.Status != metav1.StatusFailure {
				t.Errorf("got %d %.300s, want %d", got.code, got.body, c.code)
			}
		})
	}
	if after := (call{verb: http.MethodGet, namespace: "malformed", path: "valkeys/there"}).send(t); string(after.body) != string(before.body) {
		t.Errorf("what was refused changed it:\n%s\n%s", before.body, after.body)
	}
	if stored := storedUnder(t, "valkeys", "malformed"); len(stored) != 1 {
		t.Errorf("stored: %v", stored)
	}
}

func TestMalformedRequestsLeaveNothingRunning(t *testing.T) {
	create(t, "leftovers", "valkeys", "{metadata: {name: there}}")
	all := func() {
		for _, c := range malformed(t) {
			request := c.call
			request.namespace = "leftovers"
			request.send(t)
		}
	}
	all() // what is made once, such as connections, is there now
	before := goroutines()
	const rounds = 3
	for range rounds {
		all()
	}
	valkeytest.Eventually(t, "the end of what the requests have begun", func(context.Context) error {
		for origin, count := range goroutines() {
			if more := count - before[origin]; more >= rounds {
				return fmt.Errorf("%d more goroutines %s", more, origin)
			}
		}
		return nil
	})
}

// goroutines counts them by who began them.
func goroutines() map[string]int {
	stacks := make([]byte, 8<<20)
	stacks = stacks[:runtime.Stack(stacks, true)]
	counts := map[string]int{}
	for one := range strings.SplitSeq(string(stacks), "\n\n") {
		_, origin, _ := strings.Cut(one, "\ncreated by ")
		origin, _, _ = strings.Cut(origin, " in goroutine")
		counts[origin]++
	}
	return counts
}
