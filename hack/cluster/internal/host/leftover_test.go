// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package host

import (
	"net"
	"os"
	"path/filepath"
	"testing"
)

// deadSocket leaves a socket behind on which nobody listens.
func deadSocket(t *testing.T, path string) {
	t.Helper()
	listener, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	listener.(*net.UnixListener).SetUnlinkOnClose(false)
	if err := listener.Close(); err != nil {
		t.Fatal(err)
	}
}

func TestIsDead(t *testing.T) {
	dir := t.TempDir()
	dead, live, file := filepath.Join(dir, "dead"), filepath.Join(dir, "live"), filepath.Join(dir, "file")
	deadSocket(t, dead)
	listener, err := net.Listen("unix", live)
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	if err := os.WriteFile(file, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]bool{dead: true, live: false, filepath.Join(dir, "none"): false} {
		if got := isDead(path); got != want {
			t.Errorf("isDead(%s) = %v", filepath.Base(path), got)
		}
	}
}

func TestRemoveHollowKeepsWhatIsSomebodys(t *testing.T) {
	dir := t.TempDir()
	for _, path := range []string{"a/b/c", "kept/d"} {
		if err := os.MkdirAll(filepath.Join(dir, path), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	deadSocket(t, filepath.Join(dir, "a", "b", "s"))
	if err := os.WriteFile(filepath.Join(dir, "kept", "file"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	removeHollow(dir)
	for path, want := range map[string]bool{"a": false, "kept": true, "kept/file": true, "kept/d": false} {
		if _, err := os.Lstat(filepath.Join(dir, path)); (err == nil) != want {
			t.Errorf("%s is there: %v, want %v", path, err == nil, want)
		}
	}
	removeHollow(filepath.Join(dir, "nothing"))
}

func TestPortIsFree(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := listener.Addr().String()
	if PortIsFree(address) {
		t.Error("a port that is listened on is free")
	}
	if err := listener.Close(); err != nil {
		t.Fatal(err)
	}
	if !PortIsFree(address) {
		t.Error("a port that nobody listens on is not free")
	}
}
