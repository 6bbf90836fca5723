// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package architecture

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

var (
	link       = regexp.MustCompile(`\]\(([^)#\s]+)[^)]*\)`)
	makeTarget = regexp.MustCompile("`(?:[A-Z]+=\\S+ )*make ([a-z0-9-]+)")
	target     = regexp.MustCompile(`(?m)^([a-z0-9 -]+):`)
)

func documents(t *testing.T) map[string]string {
	t.Helper()
	root := filepath.Join("..", "..")
	docs := map[string]string{}
	for _, pattern := range []string{"*.md", "docs/*.md", "docs/adr/*.md", "hack/cluster/*.md"} {
		paths, err := filepath.Glob(filepath.Join(root, pattern))
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range paths {
			text, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			docs[path] = string(text)
		}
	}
	if len(docs) < 5 {
		t.Fatalf("found %d documents", len(docs))
	}
	return docs
}

func TestLinksLeadSomewhere(t *testing.T) {
	for path, text := range documents(t) {
		for _, match := range link.FindAllStringSubmatch(text, -1) {
			if strings.Contains(match[1], "://") {
				continue
			}
			if _, err := os.Stat(filepath.Join(filepath.Dir(path), match[1])); err != nil {
				t.Errorf("%s: the link %s leads nowhere", path, match[1])
			}
		}
	}
}

func TestMakeTargetsInTheDocsExist(t *testing.T) {
	makefile, err := os.ReadFile(filepath.Join("..", "..", "Makefile"))
	if err != nil {
		t.Fatal(err)
	}
	known := map[string]bool{}
	for _, match := range target.FindAllStringSubmatch(string(makefile), -1) {
		for name := range strings.FieldsSeq(match[1]) {
			known[name] = true
		}
	}
	for path, text := range documents(t) {
		for _, match := range makeTarget.FindAllStringSubmatch(text, -1) {
			if !known[match[1]] {
				t.Errorf("%s names the make target %q, which does not exist", path, match[1])
			}
		}
	}
}

// Every condition, reason and event is API: docs/status.md lists them all, and nothing else.
func TestStatusDocumentListsEveryConditionReasonAndEvent(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("..", "..", "docs", "status.md"))
	if err != nil {
		t.Fatal(err)
	}
	listed := map[string]bool{}
	for _, match := range regexp.MustCompile("(?m)^\\| `([A-Za-z]+)`").FindAllStringSubmatch(string(text), -1) {
		listed[match[1]] = true
	}
	declared := map[string]bool{}
	api := filepath.Join("..", "..", "pkg", "apis", "valkey", "v1alpha1")
	conditions, _ := filepath.Glob(filepath.Join(api, "conditions*.go"))
	events, _ := filepath.Glob(filepath.Join(api, "events*.go"))
	for _, file := range append(conditions, events...) {
		for name, value := range stringConstants(t, file) {
			declared[value] = true
			if !listed[value] {
				t.Errorf("docs/status.md does not list %s (%s)", value, name)
			}
		}
	}
	if len(declared) < 20 {
		t.Fatalf("found %d conditions, reasons and events in the code", len(declared))
	}
	for value := range listed {
		if !declared[value] {
			t.Errorf("docs/status.md lists %s, which the code does not have", value)
		}
	}
}

func stringConstants(t *testing.T, path string) map[string]string {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]string{}
	ast.Inspect(file, func(node ast.Node) bool {
		spec, ok := node.(*ast.ValueSpec)
		if !ok {
			return true
		}
		for i, name := range spec.Names {
			if i < len(spec.Values) {
				if literal, ok := spec.Values[i].(*ast.BasicLit); ok && literal.Kind == token.STRING {
					value, _ := strconv.Unquote(literal.Value)
					found[name.Name] = value
				}
			}
		}
		return true
	})
	return found
}
