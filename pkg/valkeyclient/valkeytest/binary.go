// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package valkeytest

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// Binary is one valkey-server executable.
type Binary struct {
	// Version is major.minor, such as "8.1".
	Version string
	Path    string
}

// AtLeast compares the version with "major.minor", both of one digit each, as all there are.
func (b Binary) AtLeast(version string) bool { return b.Version >= version }

// Default is the binary for tests that need one version only: 8.1 where it is found, else the newest found.
func Default(t testing.TB) Binary {
	t.Helper()
	binaries := Binaries(t)
	for _, binary := range binaries {
		if binary.Version == "8.1" {
			return binary
		}
	}
	return binaries[len(binaries)-1]
}

// Each runs the test once for each version that is found.
func Each(t *testing.T, test func(t *testing.T, binary Binary)) {
	t.Helper()
	for _, binary := range Binaries(t) {
		t.Run(binary.Version, func(t *testing.T) { test(t, binary) })
	}
}

// Binaries finds the executables, oldest first: the one that VALKEY_SERVER names; else those that the
// development cluster unpacked, $VALKEYKUBE_CACHE/valkey/VERSION/bin/valkey-server; else the one in PATH.
// It fails the test when there is none.
func Binaries(t testing.TB) []Binary {
	t.Helper()
	paths := candidates()
	binaries := make([]Binary, 0, len(paths))
	for _, path := range paths {
		binaries = append(binaries, Binary{Version: versionOf(t, path), Path: path})
	}
	if len(binaries) == 0 {
		t.Fatalf("no valkey-server: set VALKEY_SERVER, or put one in PATH or %s", filepath.Join(cacheDir(), "valkey/VERSION/bin"))
	}
	slices.SortFunc(binaries, func(a, b Binary) int { return strings.Compare(a.Version, b.Version) })
	return binaries
}

func candidates() []string {
	if path := os.Getenv("VALKEY_SERVER"); path != "" {
		return []string{path}
	}
	unpacked, _ := filepath.Glob(filepath.Join(cacheDir(), "valkey", "*", "bin", "valkey-server"))
	if len(unpacked) > 0 {
		return unpacked
	}
	if path, err := exec.LookPath("valkey-server"); err == nil {
		return []string{path}
	}
	return nil
}

func cacheDir() string {
	if dir := os.Getenv("VALKEYKUBE_CACHE"); dir != "" {
		return dir
	}
	dir, err := os.UserCacheDir() // XDG_CACHE_HOME, else $HOME/.cache
	if err != nil {
		dir = os.TempDir()
	}
	return filepath.Join(dir, "valkeykube")
}

var versionPattern = regexp.MustCompile(`\bv=(\d+\.\d+)`)

func versionOf(t testing.TB, path string) string {
	t.Helper()
	output, err := exec.Command(path, "--version").CombinedOutput()
	if err != nil {
		t.Fatalf("%s --version: %v: %s", path, err, output)
	}
	match := versionPattern.FindSubmatch(output)
	if match == nil {
		t.Fatalf("%s --version says %q", path, output)
	}
	return string(match[1])
}
