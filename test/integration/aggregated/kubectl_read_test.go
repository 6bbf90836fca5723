// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build integration

package aggregated

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"k8s.io/kube-openapi/pkg/spec3"
	"k8s.io/kube-openapi/pkg/validation/spec"
)

func getSteps(k kind) []step {
	get := func(args ...string) step { return run(append([]string{"get", k.resource}, args...)...) }
	const sel = "-lset=read"
	labels := func(name, tier string) string {
		return k.object(name, fields{"metadata.labels": map[string]any{"set": "read", "tier": tier}})
	}
	steps := []step{
		get(sel).prints("No resources found in"),
		run("create", "-f", "-").of(labels("y", "front")).prints("created"),
		run("create", "-f", "-").of(labels("x", "back")).prints("created"),
		run("create", "-f", "-").of(labels("z", "back")).prints("created"),
		get(sel).prints(k.columns, "x ", "y ", "z "),
		get(sel, "-o", "wide").prints(k.columns + " " + k.wide),
		get(sel, "--no-headers").prints("x ").without("NAME"),
		get(sel, "--show-labels").prints("LABELS", "set=read,tier=front"),
		get(sel, "-L", "tier").prints("TIER", "front", "back"),
		get(sel, "--show-kind").prints(k.printed + "/x"),
		get(sel, "--server-print=false").prints("NAME AGE"),
		get(sel, "-o", "name").prints(k.printed + "/x " + k.printed + "/y " + k.printed + "/z"),
		get("x", "-o", "json").prints(`"apiVersion": "`+k.apiVersion+`"`, `"kind": "`+k.name+`"`, `"uid": "`, `"creationTimestamp": "2`, `"resourceVersion": "`, `"generation": 1`).without("managedFields"),
		get("x", "-o", "yaml").prints("apiVersion: "+k.apiVersion, "kind: "+k.name).without("managedFields"),
		get("x", "-o", "yaml", "--show-managed-fields").prints("managedFields:", "manager: kubectl-create", "operation: Update"),
		get("x", "-o", "kyaml").prints(`kind: "` + k.name + `"`),
		get(sel, "-o", "json").prints(`"kind": "List"`, `"name": "z"`),
		get(sel, "-o", "jsonpath={range .items[*]}{.metadata.name},{end}").prints("x,y,z,"),
		get(sel, "-o", "jsonpath-as-json={.items[*].metadata.name}").prints(`[ "x", "y", "z" ]`),
		get(sel, "-o", "go-template={{range .items}}{{.metadata.name}};{{end}}").prints("x;y;z;"),
		get(sel, "-o", "custom-columns=WHO:.metadata.name,TIER:.metadata.labels.tier").prints("WHO TIER x back y front z back"),
		get(sel, "--sort-by=.metadata.labels.tier", "--no-headers").prints("y "),
		get(sel, "--sort-by=.metadata.name", "-o", "name").prints(k.printed + "/x " + k.printed + "/y " + k.printed + "/z"),
		get(sel, "--sort-by=.metadata.creationTimestamp", "-o", "name").prints(k.printed + "/"),
		get(sel, "--chunk-size=1", "-o", "name").prints(k.printed + "/x " + k.printed + "/y " + k.printed + "/z"),
		get(sel, "--chunk-size=1", "-v=8").prints("limit=1", "continue="),
		get("-l", "set=read,tier!=front", "-o", "name").prints(k.printed+"/x", k.printed+"/z").without(k.printed + "/y"),
		get("-l", "tier in (front,middle),set", "-o", "name").prints(k.printed + "/y").without(k.printed + "/x"),
		get("--field-selector=metadata.name=x", "-o", "name").prints(k.printed + "/x").without(k.printed + "/y"),
		get("--field-selector=metadata.name!=x", sel, "-o", "name").prints(k.printed+"/y", k.printed+"/z").without(k.printed + "/x"),
		get("--field-selector=spec.colour=red").refused("Error from server (BadRequest)", "spec.colour"),
		get("-A", sel, "-o", "name").prints(k.printed + "/x"),
		get("-A", sel).prints("NAMESPACE NAME"),
		run("get", "all", sel, "-o", "name").prints(k.printed + "/x"),
		run("get", k.short, "x", "y").prints("x ", "y ").without("z "),
		run("get", k.short+"/x", k.short+"/z", "-o", "name").prints(k.printed + "/x " + k.printed + "/z"),
		run("get", strings.ToLower(k.name), "x").prints("x "),
		run("get", k.name+"."+strings.Split(k.apiVersion, "/")[1]+"."+strings.Split(k.apiVersion, "/")[0], "x").prints("x "),
		run("get", k.short, "nobody", "--ignore-not-found").without("nobody"),
		run("get", k.short, "nobody").refused("Error from server (NotFound): " + k.missing("nobody")),
		run("get", k.short, "x", "--subresource=status", "-o", "jsonpath={.metadata.name}").prints("x"),
		run("get", k.short, "x", "--subresource=nothing").refused("the server could not find the requested resource"),
		run("get", "--raw", "/apis/"+k.apiVersion+"/"+k.resource+"?labelSelector=set%3Dread&limit=1").prints(`"kind":"`+k.name+`List"`, `"continue":"`),
	}
	if k.isOurs() {
		steps = append(steps, run("get", "valkey-all", sel, "-o", "name").prints(k.printed+"/x"))
	}
	return steps
}

func explainSteps(k kind) []step {
	head := []string{"KIND: " + k.name, "VERSION: " + strings.Split(k.apiVersion, "/")[1], "FIELDS:"}
	return []step{
		run("explain", strings.ToLower(k.name)).prints(append(head, "spec <"+k.name+"Spec>", "status <"+k.name+"Status>")...).without("<empty>", "<no description>"),
		run("explain", k.short, "--recursive").prints(append(head, "generateName", lastOf(k.word), lastOf(k.containers), "livenessProbe", "lastTransitionTime", "observedGeneration")...),
		run("explain", k.resource+"."+k.containers, "--api-version="+k.apiVersion).prints("FIELD: "+lastOf(k.containers), "DESCRIPTION:").without("<empty>"),
		run("explain", k.resource+".spec.colour").refused(`field "colour" does not exist`),
		run("explain", k.short, "-o", "plaintext-openapiv2").prints("KIND: " + k.name),
		run("create", "-f", "-").of(k.object("told", fields{k.word: "said", "metadata.labels": map[string]any{"a": "b"}})).prints("created"),
		run("describe", k.short, "told").prints("Name: told", "Namespace: ", "Labels: a=b").without("Managed Fields"),
		run("describe", k.short, "-l", "a=b").prints("Name: told"),
		run("describe", k.short, "to").prints("Name: told"),
		run("describe", k.short, "nobody").refused(k.missing("nobody")),
		run("events", "--for", k.short+"/told").prints("No events found"),
		run("api-resources", "--api-group="+strings.Split(k.apiVersion, "/")[0]).prints("NAME SHORTNAMES APIVERSION NAMESPACED KIND", k.resource+" "+k.short+" "+k.apiVersion+" true "+k.name),
		run("api-resources", "--verbs=create,delete,deletecollection,get,list,patch,update,watch", "-o", "name").prints(k.group()),
		run("api-resources", "-o", "wide", "--categories=all").prints(k.resource, "create,delete,deletecollection,get,list,patch,update,watch"),
		run("auth", "can-i", "create", k.group()).prints("yes"),
		run("auth", "can-i", "patch", k.group()+"/told", "--subresource=status").prints("yes"),
		run("auth", "can-i", "list", k.group(), "--as=nobody").refused("no"),
		run("get", k.short, "--as=nobody").refused("Error from server (Forbidden): " + k.group() + ` is forbidden: User "nobody" cannot list resource "` + k.resource + `"`),
		run("delete", k.short, "told", "--as=nobody").refused("Forbidden"),
	}
}

func waitSteps(k kind) []step {
	wait := func(what, limit string) step { return run("wait", k.short+"/met", "--for="+what, "--timeout="+limit) }
	now := `"lastTransitionTime":"2026-01-01T00:00:00Z","reason":"Here","message":""`
	return []step{
		wait("condition=Ready", "1s").refused(k.missing("met")),
		wait("delete", "5s"),
		run("create", "-f", "-").of(k.object("met", fields{k.word: "here"})).prints("created"),
		wait("create", "5s").prints("condition met"),
		wait("jsonpath={."+k.word+"}=here", "5s").prints(k.did("met", "condition met")),
		wait("jsonpath={."+k.word+"}=there", "1s").refused("timed out waiting for the condition on"),
		wait("condition=Ready", "1s").refused("timed out waiting for the condition on"),
		run("patch", k.short, "met", "--subresource=status", "--type=merge", "-p", `{"status":{"conditions":[{"type":"Ready","status":"True",`+now+`},{"type":"Seen","status":"False",`+now+`}]}}`).prints("patched"),
		wait("condition=Ready", "5s").prints(k.did("met", "condition met")),
		wait("condition=Seen=False", "5s").prints(k.did("met", "condition met")),
		wait("delete", "1s").refused("timed out waiting for the condition on"),
		run("wait", k.short, "--all", "--for=jsonpath={.metadata.uid}", "--timeout=5s").prints(k.did("met", "condition met")),
	}
}

// testGroup looks at what concerns the kinds together.
func testGroup(t *testing.T, in kubectl) {
	in.do(t,
		run("api-versions").prints("valkey.io/v1alpha1"),
		run("api-resources", "--api-group=valkey.io", "-o", "name").prints("failoverrequests.valkey.io monitors.valkey.io valkeynodes.valkey.io valkeys.valkey.io valkeysentinels.valkey.io"),
		run("api-resources", "--categories=valkey-all", "-o", "name").prints("valkeynodes.valkey.io valkeys.valkey.io valkeysentinels.valkey.io"),
		run("get", "apiservices", "v1alpha1.valkey.io").prints("True"),
		run("get", "--raw", "/apis/valkey.io").prints(`"preferredVersion":{"groupVersion":"valkey.io/v1alpha1","version":"v1alpha1"}`),
		run("auth", "can-i", "create", "valkeys", "--subresource=failover").prints("yes"),
		run("auth", "can-i", "--list").prints("*.*"),
		run("apply", "-f", "../../../artifacts/examples", "--dry-run=server").prints("(server dry run)").without("Warning"),
		run("apply", "-f", "../../../artifacts/examples").prints("created"),
		run("apply", "-f", "../../../artifacts/examples").prints("valkey.valkey.io/sessions unchanged", "valkey.valkey.io/cache unchanged", "valkeysentinel.valkey.io/watch unchanged").without("created"),
		// A user is merged by name, like a container: what the server has filled in is no difference, and what another one added stays.
		run("patch", "vk", "sessions", "--type=strategic", "-p", `{"spec":{"users":[{"name":"another","nopass":true,"keys":{"readWrite":["*"]}}]}}`).prints("patched"),
		run("apply", "-f", "../../../artifacts/examples").prints("valkey.valkey.io/sessions"),
		run("get", "vk", "sessions", "-o", "jsonpath={.spec.users[*].name}").prints("another web"),
		run("apply", "--server-side", "-f", "../../../artifacts/examples").prints("serverside-applied"),
		run("get", "vk,vks,vkn", "-o", "name").prints("valkey.valkey.io/", "valkeysentinel.valkey.io/"),
		run("delete", "-f", "../../../artifacts/examples").prints("deleted"),
	)
}

// Everything that can be written or read has a text, for which kubectl explain has a place.
func (c *cluster) testEveryFieldIsExplained(t *testing.T) {
	body, err := valkeyClient(t, c.admin).RESTClient().Get().AbsPath("/openapi/v3/apis/valkey.io/v1alpha1").DoRaw(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var document spec3.OpenAPI
	if err := json.Unmarshal(body, &document); err != nil {
		t.Fatal(err)
	}
	seen := 0
	for name, schema := range document.Components.Schemas {
		if !strings.Contains(name, "valkeykube") && !strings.Contains(name, "valkey.io") && !strings.HasPrefix(name, "io.valkey") {
			continue
		}
		for property, value := range schema.Properties {
			// These two explain themselves in every kind.
			if !slices.Contains([]string{"apiVersion", "kind"}, property) && explained(value) == "" {
				t.Errorf("%s.%s has no text", name, property)
			}
			seen++
		}
	}
	if seen < 100 {
		t.Errorf("only %d fields were found", seen)
	}
}

func explained(field spec.Schema) string { return strings.TrimSpace(field.Description) }
