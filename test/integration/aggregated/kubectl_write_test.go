// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build integration

package aggregated

import "strings"

func createSteps(k kind) []step {
	unknown := k.object("made", fields{"spec.colour": "red"})
	return []step{
		run("create", "--dry-run=server", "-f", "-").of(k.object("made", nil)).prints(k.did("made", "created (server dry run)")),
		run("get", k.short, "made").refused("Error from server (NotFound): " + k.missing("made")),
		run("create", "-f", "-").of(k.object("made", nil)).prints(k.did("made", "created")),
		run("create", "-f", "-").of(k.object("made", nil)).refused("Error from server (AlreadyExists)", k.group()+` "made" already exists`),
		run("create", "-f", "-", "-o", "name").of(k.object("", fields{"metadata": map[string]any{"generateName": "some-"}})).prints(k.printed + "/some-"),
		run("create", "-f", "-").of(k.object("Upper_Case", nil)).refused(`The ` + k.name + ` "Upper_Case" is invalid: metadata.name: Invalid value: "Upper_Case"`),
		run("create", "-f", "-").of(k.object("other", fields{"metadata.namespace": "elsewhere"})).refused("does not match the namespace"),
		// kubectl takes the version away before it sends.
		run("create", "-f", "-").of(k.object("versioned", fields{"metadata.resourceVersion": "1"})).prints(k.did("versioned", "created")),
		run("create", "--dry-run=server", "--validate=strict", "-f", "-").of(unknown).refused(`unknown field "spec.colour"`),
		run("create", "--dry-run=server", "--validate=warn", "-f", "-").of(strings.ReplaceAll(unknown, "made", "other")).prints(`unknown field "spec.colour"`, k.did("other", "created (server dry run)")),
		run("create", "--dry-run=server", "--validate=ignore", "-f", "-").of(strings.ReplaceAll(unknown, "made", "other")).prints(k.did("other", "created (server dry run)")).without("unknown field"),
		run("create", "-f", "-").of(k.object("typed", fields{k.word: map[string]any{"a": "b"}})).refused("cannot unmarshal object"),
		k.says("made", "metadata.generation", "1"),
	}
}

func applySteps(k kind) []step {
	both := k.object("laid", fields{k.word: "first", k.words: map[string]any{"a": "1", "b": "2"}, k.containers: containers("one")})
	changed := k.object("laid", fields{k.word: "second", k.words: map[string]any{"a": "1"}, k.containers: containers("one")})
	generation := "3"
	if !k.isOurs() {
		generation = "4" // an annotation counts there
	}
	return []step{
		run("diff", "-f", "-").of(both).refused("+kind: " + k.name),
		apply("--dry-run=server").of(both).prints(k.did("laid", "created (server dry run)")),
		apply().of(both).prints(k.did("laid", "created")),
		apply().of(both).prints(k.did("laid", "unchanged")),
		run("diff", "-f", "-").of(both).without("kind"),
		run("diff", "-f", "-").of(changed).refused("- "+lastOf(k.word)+": first", "+ "+lastOf(k.word)+": second"),
		run("diff", "--server-side", "--force-conflicts", "-f", "-").of(changed).refused("+ " + lastOf(k.word) + ": second"),
		apply("--dry-run=server").of(changed).prints(k.did("laid", "configured (server dry run)")),
		k.says("laid", k.word, "first"),
		// Somebody else adds a container; who applies keeps it, as the list is merged by name.
		run("patch", k.short, "laid", "--type=strategic", "-p", with(map[string]any{}, fields{k.containers: containers("two")})).prints(k.did("laid", "patched")),
		run("annotate", k.short, "laid", "other=kept").prints(k.did("laid", "annotated")),
		apply().of(changed).prints(k.did("laid", "configured")),
		k.says("laid", k.word, "second"),
		k.says("laid", k.words, `{"a":"1"}`),
		run("get", k.short, "laid", "-o", "jsonpath={."+k.containers+"[*].name} {.metadata.annotations.other}").prints("one", "two", "kept"),
		// The lists differ in length, so kubectl sends the order of its own entries and calls that "configured", for every kind: nothing changes.
		apply().of(changed).prints(k.did("laid", "configured")),
		k.says("laid", "metadata.generation", generation),
		run("apply", "view-last-applied", k.short, "laid").prints(lastOf(k.word) + ": second"),
		run("apply", "set-last-applied", "-f", "-").of(both).prints(k.did("laid", "configured")),
		// What was applied by the client is the server's to merge from now on.
		apply("--server-side").of(changed).prints(k.applied("laid")),
		apply("--server-side").of(k.object("laid", fields{k.word: "second"})).prints(k.applied("laid")),
		k.says("laid", k.words, ""),
		apply().of(k.object("laid", fields{"spec.colour": "red"})).refused(`unknown field "spec.colour"`),
		apply("--force").of(k.object("laid", fields{k.word: "third"})).prints(k.did("laid", "configured")),
	}
}

func lastOf(path string) string { return path[strings.LastIndex(path, ".")+1:] }

func serverSideSteps(k kind) []step {
	word := func(word string) string {
		return k.object("shared", fields{k.word: word, "metadata.labels": map[string]any{"by": "a"}})
	}
	only := func(set fields) string { return k.partial("shared", set) }
	return []step{
		applyAs("a", "--dry-run=server").of(word("as-a")).prints(k.did("shared", "serverside-applied (server dry run)")),
		run("get", k.short, "shared").refused(k.missing("shared")),
		applyAs("a").of(word("as-a")).prints(k.applied("shared")),
		applyAs("b").of(only(fields{k.word: "as-a"})).prints(k.applied("shared")),
		applyAs("b").of(only(fields{k.word: "as-b"})).refused(`Apply failed with 1 conflict: conflict with "a": .`+k.word, "--force-conflicts"),
		applyAs("b", "--force-conflicts", "--dry-run=server").of(only(fields{k.word: "as-b"})).prints("(server dry run)"),
		k.says("shared", k.word, "as-a"),
		applyAs("b", "--force-conflicts").of(only(fields{k.word: "as-b"})).prints(k.applied("shared")),
		k.says("shared", k.word, "as-b"),
		applyAs("a").of(word("as-a")).refused(`conflict with "b": .` + k.word),
		run("get", k.short, "shared", "-o", "json", "--show-managed-fields").prints(`"manager": "a"`, `"manager": "b"`, `"operation": "Apply"`, `"f:`+lastOf(k.word)+`"`),
		run("get", k.short, "shared", "-o", "json").without("managedFields"),
		// Who no longer names a field gives it up, and the last one takes it along.
		applyAs("b").of(only(nil)).prints(k.applied("shared")),
		k.says("shared", k.word, ""),
		// Each manager has entries of its own in a list by name, and in a map.
		applyAs("b").of(only(fields{k.containers: containers("two"), k.words: map[string]any{"b": "2"}})).prints(k.applied("shared")),
		applyAs("c").of(only(fields{k.containers: containers("three"), k.words: map[string]any{"c": "3"}})).prints(k.applied("shared")),
		run("get", k.short, "shared", "-o", "jsonpath={."+k.containers+"[*].name}").prints("two three"),
		applyAs("b").of(only(nil)).prints(k.applied("shared")),
		run("get", k.short, "shared", "-o", "jsonpath={."+k.containers+"[*].name} {."+k.words+"}").prints(`three {"c":"3"}`).without("two"),
		// A status is applied at its own endpoint, and there nothing else is.
		applyAs("d", "--subresource=status").of(only(fields{k.word: "unwanted", "status.observedGeneration": int64(7)})).prints(k.applied("shared")),
		k.says("shared", "status.observedGeneration", "7"),
		k.says("shared", k.word, ""),
		applyAs("e").of(only(fields{"status.observedGeneration": int64(8)})).prints(k.applied("shared")),
		k.says("shared", "status.observedGeneration", "7"),
		applyAs("a").of(only(fields{"spec.colour": "red"})).refused(`colour`),
		applyAs("a").of(only(fields{"metadata.resourceVersion": "1"})).refused("Operation cannot be fulfilled on " + k.group() + ` "shared": the object has been modified`),
		applyAs("a").of(only(fields{"metadata.managedFields": []any{map[string]any{"manager": "a"}}})).refused("metadata.managedFields must be nil"),
	}
}

func editSteps(k kind) []step {
	return []step{
		run("create", "-f", "-").of(k.object("edited", fields{k.word: "before"})).prints(k.did("edited", "created")),
		run("edit", k.short, "edited").edits("true").prints("Edit cancelled, no changes made."),
		run("edit", k.short, "edited").edits("sed -i s/before/after/").prints(k.did("edited", "edited")),
		k.says("edited", k.word, "after"),
		run("edit", k.short, "edited", "-o", "json").edits("sed -i s/after/later/").prints(`"kind": "`+k.name+`"`, `"later"`),
		k.says("edited", k.word, "later"),
		// It opens the editor again with what is wrong, and gives up when the second time changes nothing.
		run("edit", k.short, "edited").edits("sed -i s/later/{a:1}/").refused("Edit cancelled, no valid changes were saved."),
		run("patch", k.short, "edited", "--subresource=status", "--type=merge", "-p", `{"status":{"observedGeneration":5}}`).prints("patched"),
		run("edit", k.short, "edited", "--subresource=status").edits("sed -i s/observedGeneration:.*/observedGeneration:\\ 6/").prints(k.did("edited", "edited")),
		k.says("edited", "status.observedGeneration", "6"),
	}
}

func patchSteps(k kind) []step {
	patch := func(how, text string, more ...string) step {
		return run(append([]string{"patch", k.short, "patched", "--type=" + how, "-p", text}, more...)...)
	}
	pointer := "/" + strings.ReplaceAll(k.word, ".", "/")
	list := func(items ...any) string { return with(map[string]any{}, fields{k.containers: items}) }
	names := run("get", k.short, "patched", "-o", "jsonpath={."+k.containers+"[*].name}{'|'}")
	done := k.did("patched", "patched")
	return []step{
		run("create", "-f", "-").of(k.object("patched", fields{k.word: "first", k.containers: containers("one")})).prints("created"),
		patch("json", `[{"op":"test","path":"`+pointer+`","value":"first"},{"op":"replace","path":"`+pointer+`","value":"second"}]`).prints(done),
		patch("json", `[{"op":"test","path":"`+pointer+`","value":"first"}]`).refused("The request is invalid"),
		patch("json", `[{"op":"remove","path":"/spec/nowhere"}]`).refused("The request is invalid"),
		patch("json", `[{"op":"add","path":"/spec/colour","value":"red"}]`).prints(`Warning: unknown field "spec.colour"`).without("error"),
		patch("merge", with(map[string]any{}, fields{k.word: "third"}), "--dry-run=server").prints(done),
		k.says("patched", k.word, "second"),
		patch("merge", with(map[string]any{}, fields{k.word: "third"})).prints(done),
		patch("merge", with(map[string]any{}, fields{k.word: "third"})).prints(k.did("patched", "patched (no change)")),
		patch("merge", `{"metadata":{"resourceVersion":"1"}}`).refused("Conflict", "the object has been modified"),
		patch("merge", `{"metadata":{"uid":"7e57ab1e-0000-0000-0000-000000000000"}}`).refused("The " + k.name + ` "patched" is invalid: metadata.uid: Invalid value: "7e57ab1e-0000-0000-0000-000000000000": field is immutable`),
		k.says("patched", k.word, "third"),
		// The merge patch of a list replaces it; the strategic one knows that its entries have names.
		patch("strategic", list(containers("two")...)).prints(done),
		names.prints("two one|"),
		patch("strategic", list(map[string]any{"name": "one", "image": "example.org/newer"})).prints(done),
		run("get", k.short, "patched", "-o", "jsonpath={."+k.containers+"[*].image}").prints("example.org/two example.org/newer"),
		patch("strategic", list(map[string]any{"name": "two", "$patch": "delete"})).prints(done),
		names.prints("one|"),
		patch("merge", list(containers("three")...)).prints(done),
		names.prints("three|"),
		patch("merge", `{"status":{"observedGeneration":3}}`, "--subresource=status").prints(done),
		k.says("patched", "status.observedGeneration", "3"),
		patch("strategic", `{"status":{"observedGeneration":4}}`, "--subresource=status").prints(done),
		patch("merge", `{"status":{"observedGeneration":9}}`).prints(k.did("patched", "patched (no change)")),
		k.says("patched", "status.observedGeneration", "4"),
		patch("merge", with(map[string]any{}, fields{k.word: []any{"a"}})).refused("array"),
		patch("merge", `{`).refused("Error from server (BadRequest): "),
	}
}

func replaceSteps(k kind) []step {
	replace := func(more ...string) step { return run(append([]string{"replace", "-f", "-"}, more...)...) }
	return []step{
		replace().of(k.object("new", nil)).refused(k.missing("new")),
		run("create", "-f", "-").of(k.object("new", fields{k.word: "first"})).prints("created"),
		replace("--dry-run=server").of(k.object("new", fields{k.word: "second"})).prints(k.did("new", "replaced (server dry run)")),
		k.says("new", k.word, "first"),
		replace().of(k.object("new", fields{k.word: "second"})).prints(k.did("new", "replaced")),
		k.says("new", "metadata.generation", "2"),
		replace().of(k.object("new", fields{k.word: "third", "metadata.resourceVersion": "1"})).refused("Error from server (Conflict)", "the object has been modified; please apply your changes to the latest version and try again"),
		replace().of(k.object("new", fields{k.word: "third", "metadata.uid": "7e57ab1e-0000-0000-0000-000000000000"})).refused("Conflict", "Precondition failed: UID in precondition"),
		replace("--subresource=status").of(k.object("new", fields{k.word: "third", "status.observedGeneration": int64(2)})).prints("replaced"),
		k.says("new", k.word+"}/{.status.observedGeneration", "second/2"),
		replace("--force").of(k.object("new", fields{k.word: "fourth"})).prints("deleted", k.did("new", "replaced")),
		k.says("new", k.word+"}/{.metadata.generation", "fourth/1"),
	}
}

func scaleSteps(k kind) []step {
	create := run("create", "-f", "-").of(k.object("scaled", nil)).prints("created")
	if !k.isScalable {
		return []step{create, run("scale", k.short+"/scaled", "--replicas=2").refused("the server could not find the requested resource")}
	}
	scale := func(args ...string) step { return run(append([]string{"scale", k.short + "/scaled"}, args...)...) }
	return []step{
		create,
		scale("--replicas=3", "--dry-run=server").prints(k.did("scaled", "scaled (server dry run)")),
		scale("--replicas=5").prints(k.did("scaled", "scaled")),
		k.says("scaled", "spec.replicas", "5"),
		scale("--replicas=3", "--current-replicas=4").refused("Expected replicas to be 4, was 5"),
		scale("--replicas=3", "--current-replicas=5").prints(k.did("scaled", "scaled")),
		scale("--replicas=5", "--resource-version=1").refused("Expected resource version to be 1"),
		scale("--replicas=-1").refused("The --replicas=COUNT flag is required"),
		k.says("scaled", "spec.replicas", "3"),
		run("get", k.short, "scaled", "--subresource=scale", "-o", "jsonpath={.kind} {.spec.replicas}").prints("Scale 3"),
		run("patch", k.short, "scaled", "--subresource=scale", "--type=merge", "-p", `{"spec":{"replicas":5}}`).prints("patched"),
		k.says("scaled", "spec.replicas", "5"),
		run("autoscale", k.short+"/scaled", "--min=1", "--max=3", "--dry-run=server", "-o", "jsonpath={.spec.scaleTargetRef.kind}").prints(k.name),
		run("scale", k.short+"/nobody", "--replicas=2").refused(k.missing("nobody")),
	}
}

func labelSteps(k kind) []step {
	steps := []step{run("create", "-f", "-").of(k.object("named", nil)).prints("created")}
	for verb, done := range map[string]string{"label": "labeled", "annotate": "annotated"} {
		do := func(args ...string) step { return run(append([]string{verb, k.short, "named"}, args...)...) }
		done = k.did("named", done)
		steps = append(steps,
			do("note=1", "--dry-run=server").prints(done+" (server dry run)"),
			do("note=1").prints(done),
			do("note=2").refused("already has a value (1)", "--overwrite is false"),
			do("note=2", "--overwrite").prints(done),
			do("--list").prints("note=2"),
			do("other=2", "--resource-version=1").refused("the object has been modified"),
			do("note-").prints("named"),
			run("get", k.short, "named", "-o", "yaml").without("note:"),
		)
	}
	if k.isOurs() {
		steps = append(steps, k.says("named", "metadata.generation", "1"))
	}
	return steps
}
