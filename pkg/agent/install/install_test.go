// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package install

import (
	"os"
	"path/filepath"
	"testing"
)

func TestCopy(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "from")
	for _, content := range []string{"one", "two"} { // the second replaces the first
		if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		to := filepath.Join(dir, "to")
		if err := os.MkdirAll(to, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := Copy(file, to, "agent"); err != nil {
			t.Fatal(err)
		}
		got, err := os.ReadFile(filepath.Join(to, "agent"))
		if err != nil || string(got) != content {
			t.Errorf("%q, %v", got, err)
		}
		info, err := os.Stat(filepath.Join(to, "agent"))
		if err != nil || info.Mode().Perm() != 0o755 {
			t.Errorf("%v, %v", info.Mode(), err)
		}
		if entries, _ := os.ReadDir(to); len(entries) != 1 {
			t.Errorf("something is left beside it: %v", entries)
		}
	}
}

func TestCopyFails(t *testing.T) {
	dir := t.TempDir()
	if err := Copy(filepath.Join(dir, "nothing"), dir, "agent"); err == nil {
		t.Error("no file, no error")
	}
	if err := Copy(os.Args[0], filepath.Join(dir, "nowhere"), "agent"); err == nil {
		t.Error("no directory, no error")
	}
	if err := os.Mkdir(filepath.Join(dir, "agent"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := Copy(os.Args[0], dir, "agent"); err == nil {
		t.Error("a directory in its place, no error")
	}
}
