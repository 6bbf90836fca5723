// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package state

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

func TestWriteFileTellsWhatIsNew(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a", "b")
	for i, step := range []struct {
		content string
		changed bool
	}{{"one", true}, {"one", false}, {"two", true}} {
		changed, err := WriteFile(path, []byte(step.content), 0o600)
		if err != nil || changed != step.changed {
			t.Fatalf("step %d: changed %v, %v, want %v", i, changed, err, step.changed)
		}
		if content, err := os.ReadFile(path); err != nil || string(content) != step.content {
			t.Fatalf("step %d: %q, %v", i, content, err)
		}
	}
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
	if entries, err := os.ReadDir(filepath.Dir(path)); err != nil || len(entries) != 1 {
		t.Errorf("%d files, %v: something temporary is left", len(entries), err)
	}
}

func TestReadJSONNamesABrokenFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "broken.json")
	if err := os.WriteFile(path, []byte("{"), 0o644); err != nil {
		t.Fatal(err)
	}
	var value map[string]string
	if err := ReadJSON(path, &value); err == nil {
		t.Error("a broken file is read")
	}
}

// Whoever waits for a lock whose holder removes the file must not hold a file that nobody else can find.
func TestLockOutlivesTheRemovalOfItsFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "root", "lock")
	release, err := Lock(path)
	if err != nil {
		t.Fatal(err)
	}
	got := make(chan func())
	go func() {
		second, err := Lock(path)
		if err != nil {
			t.Error(err)
		}
		got <- second
	}()
	// Who has not waited for the file yet may make a new one while the folder is being removed.
	err = os.RemoveAll(filepath.Dir(path))
	for errors.Is(err, syscall.ENOTEMPTY) {
		err = os.RemoveAll(filepath.Dir(path))
	}
	if err != nil {
		t.Fatal(err)
	}
	release()
	second := <-got
	defer second()
	f, err := os.Open(path)
	if err != nil {
		t.Fatalf("the second holds a file that is not at the place: %v", err)
	}
	defer f.Close()
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); !errors.Is(err, syscall.EWOULDBLOCK) {
		t.Errorf("a third can take the lock: %v", err)
	}
}
