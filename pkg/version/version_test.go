// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package version

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"strings"
	"testing"

	baseversion "k8s.io/component-base/version"
)

func TestRecorded(t *testing.T) {
	for name, c := range map[string]struct {
		build debug.BuildInfo
		want  string
	}{
		"a module's version": {debug.BuildInfo{Main: debug.Module{Version: "v1.2.3"}}, "v1.2.3"},
		"a commit":           {debug.BuildInfo{Main: debug.Module{Version: "(devel)"}, Settings: []debug.BuildSetting{{Key: "vcs.revision", Value: "abc"}}}, "abc"},
		"nothing":            {debug.BuildInfo{Main: debug.Module{Version: "(devel)"}}, "unknown"},
	} {
		if got := recorded(&c.build); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

// The libraries take component-base's version for the Kubernetes version and choose features by it.
func TestTheBuildStampsOurVersionAndNotThatOfTheLibraries(t *testing.T) {
	if baseversion.Get().GitVersion != "v0.0.0-master+$Format:%H$" {
		t.Errorf("component-base's version is %q", baseversion.Get().GitVersion)
	}
	makefile, err := os.ReadFile(filepath.Join("..", "..", "Makefile"))
	if err != nil {
		t.Fatal(err)
	}
	const flag = "-X github.com/valkeykube/valkeykube/pkg/version.stamped="
	if !strings.Contains(string(makefile), flag) || strings.Contains(string(makefile), "component-base/version.") {
		t.Errorf("the Makefile must build with %s, and stamp nothing else", flag)
	}
	program := filepath.Join(t.TempDir(), "program")
	source := filepath.Join(t.TempDir(), "main.go")
	text := "package main\n\nimport \"github.com/valkeykube/valkeykube/pkg/version\"\n\nfunc main() { print(version.String()) }\n"
	if err := os.WriteFile(source, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-ldflags", flag+"v9.9.9", "-o", program, source).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if out, err := exec.CommandContext(t.Context(), program).CombinedOutput(); err != nil || string(out) != "v9.9.9" {
		t.Errorf("%v: %q", err, out)
	}
}
