// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package images

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
)

func TestTreeFollowsLinksToFoldersAlone(t *testing.T) {
	dir, packages := t.TempDir(), t.TempDir()
	for _, file := range []string{filepath.Join(dir, "one", "main.mjs"), filepath.Join(packages, "library", "index.js")} {
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte("text"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for name, leadsTo := range map[string]string{"one/node_modules": packages, "one/shell": filepath.Join(dir, "one", "main.mjs")} {
		if err := os.Symlink(leadsTo, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	files, err := tree(dir, "/clients")
	if err != nil {
		t.Fatal(err)
	}
	var paths []string
	for _, file := range files {
		paths = append(paths, file.Path)
	}
	if want := []string{"/clients/one/main.mjs", "/clients/one/node_modules/library/index.js"}; !slices.Equal(paths, want) {
		t.Errorf("%v, want %v", paths, want)
	}
}

func TestTreeSaysWhatALinkThatLeadsNowhereIs(t *testing.T) {
	dir := t.TempDir()
	if err := os.Symlink(filepath.Join(dir, "gone"), filepath.Join(dir, "node_modules")); err != nil {
		t.Fatal(err)
	}
	if files, err := tree(dir, "/clients"); err == nil {
		t.Errorf("%v, want an error", files)
	}
}
