// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package architecture

import (
	"encoding/json"
	"errors"
	"io"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/valkeykube/valkeykube"

// rule says what the packages under a folder may import. Only direct imports of non-test files count.
type rule struct {
	// pkgs is a folder of the module; the rule holds for the folder and everything below it.
	pkgs string
	// ours lists what it may import of this module, as folder prefixes. nil allows nothing.
	ours []string
	// never lists import path prefixes from elsewhere that it must not use.
	never []string
}

var (
	pure    = []string{"context", "net", "os", "time/tzdata", "math/rand", "crypto/rand", "k8s.io/client-go/kubernetes", "k8s.io/client-go/rest", "k8s.io/client-go/tools", "sigs.k8s.io/controller-runtime", "github.com/valkey-io"}
	noKube  = []string{"k8s.io/", "sigs.k8s.io/"}
	generic = []string{"github.com/valkey-io"}
)

// rules is the import table of docs/architecture.md. The first rule whose folder holds a package is the one that counts.
var rules = []rule{
	{"pkg/naming", nil, append(slices.Clone(pure), noKube...)},
	{"pkg/boot", nil, append(slices.Clone(pure), noKube...)},
	{"pkg/valkeyconf", []string{"pkg/naming"}, append(slices.Clone(pure), noKube...)},
	{"pkg/topology/view", []string{"pkg/topology", "pkg/apis/valkey/v1alpha1"}, pure},
	{"pkg/topology", nil, append(slices.Clone(pure), noKube...)},
	{"pkg/valkeyclient", []string{"pkg/valkeyclient"}, noKube},
	{"pkg/inspect", []string{"pkg/valkeyclient", "pkg/topology"}, append([]string{"github.com/valkey-io"}, noKube...)},
	{"pkg/operation", []string{"pkg/valkeyclient", "pkg/topology", "pkg/inspect"}, append([]string{"github.com/valkey-io"}, noKube...)},
	{"pkg/selection", []string{"pkg/apis/valkey/v1alpha1", "pkg/naming"}, pure},
	{"pkg/desired", []string{"pkg/apis/valkey/v1alpha1", "pkg/naming", "pkg/valkeyconf", "pkg/boot", "pkg/generated/applyconfiguration"}, pure},
	{"pkg/discovery", []string{"pkg/apis/valkey/v1alpha1", "pkg/naming", "pkg/valkeyclient", "pkg/desired"}, generic},
	{"pkg/agent", []string{"pkg/agent", "pkg/boot", "pkg/naming", "pkg/valkeyclient", "pkg/valkeyconf", "pkg/topology", "pkg/inspect", "pkg/operation"}, append([]string{"github.com/valkey-io"}, noKube...)},
	{"pkg/storeidentity", nil, generic},
	{"pkg/version", nil, append(slices.Clone(pure), noKube...)},
	{"pkg/servingcert", []string{"pkg/servingcert", "pkg/naming"}, generic},
	{"pkg/etcdcert", []string{"pkg/etcdcert", "pkg/naming"}, generic},
	{"pkg/controller/valkey/plan", []string{"pkg/apis/valkey/v1alpha1", "pkg/topology", "pkg/desired", "pkg/naming", "pkg/boot", "pkg/valkeyconf", "pkg/selection", "pkg/generated/applyconfiguration"}, pure},
	{"pkg/controller/sentinel/plan", []string{"pkg/apis/valkey/v1alpha1", "pkg/topology", "pkg/desired", "pkg/naming", "pkg/boot", "pkg/valkeyconf", "pkg/selection", "pkg/generated/applyconfiguration"}, pure},
	{"pkg/controller/valkeynode/plan", []string{"pkg/apis/valkey/v1alpha1", "pkg/topology", "pkg/desired", "pkg/naming", "pkg/boot", "pkg/valkeyconf", "pkg/generated/applyconfiguration"}, pure},
	{"pkg/controller/remembered", nil, append([]string{"k8s.io/client-go", "sigs.k8s.io/controller-runtime"}, generic...)},
	{"pkg/controller/password", nil, append(slices.Clone(generic), noKube...)},
	{"pkg/controller/pastcache", nil, generic},
	{"pkg/controller/issuance", []string{"pkg/apis/valkey/v1alpha1", "pkg/desired"}, generic},
	{"pkg/controller/metrics", []string{"pkg/apis/valkey/v1alpha1"}, generic},
	{"pkg/controller/servicemonitor", []string{"pkg/apis/valkey/v1alpha1", "pkg/desired", "pkg/naming"}, generic},
	{"pkg/controller/valkeynode", controllerImports("valkeynode"), generic},
	{"pkg/controller/valkey", controllerImports("valkey"), generic},
	{"pkg/controller/sentinel", controllerImports("sentinel"), generic},
	{"pkg/plugin/screen", []string{"pkg/plugin/cluster", "pkg/apis/valkey/v1alpha1", "pkg/agent/probe"}, append([]string{"k8s.io/client-go"}, generic...)},
	{"pkg/plugin/console", []string{"pkg/valkeyclient"}, append(slices.Clone(generic), noKube...)},
	{"pkg/plugin/tunnel", []string{"pkg/plugin/tunnel"}, generic},
	{"pkg/plugin/settings", []string{"pkg/plugin/credential", "pkg/apis/valkey/v1alpha1", "pkg/naming"}, append([]string{"k8s.io/client-go"}, generic...)},
	{"pkg/plugin", []string{"pkg/plugin", "pkg/apis/valkey/v1alpha1", "pkg/generated/clientset", "pkg/naming", "pkg/valkeyclient", "pkg/valkeyconf", "pkg/agent/probe", "pkg/version"}, generic},
	{"pkg/registry", []string{"pkg/apis", "pkg/registry", "pkg/discovery", "pkg/inspect", "pkg/operation", "pkg/topology", "pkg/valkeyclient", "pkg/valkeyconf", "pkg/naming", "pkg/selection"}, generic},
	{"pkg/apiserver", []string{"pkg/apiserver", "pkg/storeidentity", "pkg/apis", "pkg/registry", "pkg/generated/openapi", "pkg/discovery", "pkg/valkeyclient", "pkg/naming"}, generic},
	{"pkg/apis/valkey/v1alpha1", []string{"pkg/apis", "pkg/naming", "pkg/valkeyconf"}, append([]string{"k8s.io/apiserver"}, generic...)},
	{"pkg/apis", []string{"pkg/apis", "pkg/naming"}, append([]string{"k8s.io/apiserver"}, generic...)},
	{"pkg/generated", []string{"pkg/generated", "pkg/apis/valkey/v1alpha1"}, generic},
	{"cmd/apiserver", []string{"cmd/apiserver", "pkg/apiserver", "pkg/storeidentity", "pkg/version", "pkg/apis", "pkg/registry", "pkg/discovery", "pkg/valkeyclient", "pkg/inspect", "pkg/operation", "pkg/naming", "pkg/generated"}, generic},
	{"cmd/controller", []string{"cmd/controller", "pkg/boot", "pkg/controller", "pkg/apis/valkey/v1alpha1", "pkg/servingcert", "pkg/etcdcert", "pkg/discovery", "pkg/valkeyclient", "pkg/inspect", "pkg/operation", "pkg/naming", "pkg/generated", "pkg/version"}, generic},
	{"cmd/agent", []string{"cmd/agent", "pkg/agent", "pkg/naming", "pkg/version"}, append([]string{"github.com/valkey-io"}, noKube...)},
	{"cmd/kubectl-valkey", []string{"cmd/kubectl-valkey", "pkg/plugin"}, generic},
	{"examples", []string{"pkg/apis/valkey/v1alpha1", "pkg/generated"}, generic},
	{"test", []string{"pkg", "cmd", "test", "examples"}, nil},
	{"hack", nil, nil},
}

func controllerImports(kind string) []string {
	return []string{
		"pkg/controller/" + kind, "pkg/controller/remembered", "pkg/controller/issuance", "pkg/controller/pastcache", "pkg/controller/password", "pkg/apis/valkey/v1alpha1", "pkg/discovery", "pkg/inspect", "pkg/operation", "pkg/topology",
		"pkg/valkeyclient", "pkg/valkeyconf", "pkg/desired", "pkg/naming", "pkg/boot", "pkg/selection", "pkg/generated",
	}
}

type goPackage struct {
	ImportPath string
	Dir        string
	Imports    []string
	GoFiles    []string
}

func packages(t *testing.T) []goPackage {
	t.Helper()
	cmd := exec.Command("go", "list", "-json=ImportPath,Dir,Imports,GoFiles", "./...")
	cmd.Dir = filepath.Join("..", "..")
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	var found []goPackage
	for decoder := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p goPackage
		err := decoder.Decode(&p)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		found = append(found, p)
	}
	if len(found) < 10 {
		t.Fatalf("go list found %d packages: the test would check nothing", len(found))
	}
	return found
}

func TestImportsFollowTheTable(t *testing.T) {
	for _, p := range packages(t) {
		folder := strings.TrimPrefix(p.ImportPath, module+"/")
		r, ok := ruleOf(folder)
		if !ok {
			t.Errorf("%s: no rule for it in the import table", folder)
			continue
		}
		for _, violation := range violations(r, folder, p.Imports) {
			t.Error(violation)
		}
	}
}

func TestTheTableCatchesWhatItForbids(t *testing.T) {
	for _, seeded := range []struct{ folder, imported string }{
		{"pkg/naming", "context"},
		{"pkg/topology", module + "/pkg/valkeyclient"},
		{"pkg/controller/valkey/plan", "github.com/valkey-io/valkey-go"},
		{"pkg/controller/valkey", module + "/pkg/controller/sentinel"},
		{"pkg/registry/valkey/valkey", module + "/pkg/desired"},
		{"pkg/agent/node", "k8s.io/client-go/rest"},
		{"cmd/apiserver/app", module + "/pkg/controller/valkey"},
		{"pkg/plugin/console", "k8s.io/client-go/rest"},
		{"pkg/plugin/command", module + "/pkg/operation"},
	} {
		r, ok := ruleOf(seeded.folder)
		if !ok || len(violations(r, seeded.folder, []string{seeded.imported})) == 0 {
			t.Errorf("%s importing %s was not caught", seeded.folder, seeded.imported)
		}
	}
}

func ruleOf(folder string) (rule, bool) {
	for _, r := range rules {
		if within(folder, r.pkgs) {
			return r, true
		}
	}
	return rule{}, false
}

func violations(r rule, folder string, imports []string) []string {
	var found []string
	for _, imported := range imports {
		own, isOurs := strings.CutPrefix(imported, module+"/")
		switch {
		case isOurs && !within(own, folder) && !within(folder, own) && !slices.ContainsFunc(r.ours, func(a string) bool { return within(own, a) }):
			found = append(found, folder+" must not import "+own)
		case !isOurs && slices.ContainsFunc(r.never, func(n string) bool { return within(imported, strings.TrimSuffix(n, "/")) }):
			found = append(found, folder+" must not import "+imported)
		}
	}
	return found
}

func within(path, folder string) bool { return path == folder || strings.HasPrefix(path, folder+"/") }
