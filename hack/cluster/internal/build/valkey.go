// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package build

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// valkeyBinary is the one binary of Valkey: as which program it acts, it reads off the name it is called by.
const valkeyBinary = "usr/bin/valkey-check-rdb"

// valkeyPrograms are the names to which that binary and the client are linked.
var valkeyPrograms = []string{"valkey-server", "valkey-sentinel", "valkey-check-aof", "valkey-check-rdb"}

// finishValkey adds the links that Debian keeps in another package and wrappers that run the programs with the C library
// of their own suite, which the machine's own may not be able to replace. root becomes final afterwards.
func finishValkey(root, final, version string) error {
	bin := filepath.Join(root, "usr", "bin")
	for _, program := range valkeyPrograms {
		link := filepath.Join(bin, program)
		if _, err := os.Lstat(link); err == nil {
			continue
		}
		if err := os.Symlink(filepath.Base(valkeyBinary), link); err != nil {
			return err
		}
	}
	wrappers := filepath.Join(root, "bin")
	if err := os.MkdirAll(wrappers, 0o755); err != nil {
		return err
	}
	for _, program := range append([]string{"valkey-cli", "valkey-benchmark"}, valkeyPrograms...) {
		text, err := wrapper(root, final, filepath.Join("usr", "bin", program))
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(wrappers, program), []byte(text), 0o755); err != nil {
			return err
		}
	}
	return checkValkey(root, version)
}

// wrapper renders a shell script that starts a program of root, by its path there, once root is called final.
func wrapper(root, final, program string) (string, error) {
	loader, err := findLoader(root)
	if err != nil {
		return "", err
	}
	var path []string
	for _, dir := range LibraryDirs(root) {
		path = append(path, filepath.Join(final, dir))
	}
	return fmt.Sprintf("#!/bin/sh\n# Runs the unpacked Debian package with the libraries of its own suite.\nexec %s --library-path %s --argv0 %s %s \"$@\"\n",
		filepath.Join(final, loader), strings.Join(path, ":"), filepath.Base(program), filepath.Join(final, program)), nil
}

// findLoader returns the dynamic loader's path below root.
func findLoader(root string) (string, error) {
	for _, pattern := range []string{"lib64/ld-linux-*.so.*", "usr/lib64/ld-linux-*.so.*", "lib/ld-linux-*.so.*", "usr/lib/ld-linux-*.so.*"} {
		found, err := filepath.Glob(filepath.Join(root, pattern))
		if err != nil {
			return "", err
		}
		for _, path := range found {
			// On some suites the first place holds a link that is only right when root is the root.
			if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() {
				return filepath.Rel(root, path)
			}
		}
	}
	loaders, err := filepath.Glob(filepath.Join(root, "*", "*", "ld-linux-*.so.*"))
	more, _ := filepath.Glob(filepath.Join(root, "usr", "lib", "*", "ld-linux-*.so.*"))
	if loaders = append(loaders, more...); err != nil || len(loaders) == 0 {
		return "", fmt.Errorf("no dynamic loader below %s", root)
	}
	return filepath.Rel(root, loaders[0])
}

// LibraryDirs are the folders below root, relative to it, that hold shared libraries.
func LibraryDirs(root string) []string {
	var dirs []string
	for _, pattern := range []string{"lib/*-linux-gnu", "usr/lib/*-linux-gnu", "usr/lib/*-linux-gnu/systemd", "lib", "usr/lib"} {
		found, _ := filepath.Glob(filepath.Join(root, pattern))
		for _, dir := range found {
			if rel, err := filepath.Rel(root, dir); err == nil {
				dirs = append(dirs, rel)
			}
		}
	}
	return dirs
}

// checkValkey runs the server of root, because a suite's package moves on: sid's 9.1 will be something else one day.
func checkValkey(root, version string) error {
	loader, err := findLoader(root)
	if err != nil {
		return err
	}
	var path []string
	for _, dir := range LibraryDirs(root) {
		path = append(path, filepath.Join(root, dir))
	}
	out, err := exec.Command(filepath.Join(root, loader), "--library-path", strings.Join(path, ":"), "--argv0", "valkey-server",
		filepath.Join(root, "usr", "bin", "valkey-server"), "--version").CombinedOutput()
	if err != nil {
		return fmt.Errorf("run valkey-server %s: %w: %s", version, err, out)
	}
	if !strings.Contains(string(out), "v="+version+".") {
		return fmt.Errorf("the package for Valkey %s is now another version: %s", version, strings.TrimSpace(string(out)))
	}
	return nil
}
