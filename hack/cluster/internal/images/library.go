// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package images

import (
	"debug/elf"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"strings"
)

// libraryDir is where an image's libraries are put: Debian's loaders look there without being told.
const libraryDir = "/usr/lib/x86_64-linux-gnu"

// linked returns what a dynamically linked program of root needs beside it: the loader, at the place that is written in
// the program, and all libraries, found below root. dirs are the library folders of root. A static program needs nothing.
func linked(root string, dirs []string, programs ...string) ([]File, error) {
	var files []File
	seen := map[string]bool{}
	queue := programs
	for len(queue) > 0 {
		program := queue[0]
		queue = queue[1:]
		needed, loader, err := dependencies(program)
		if err != nil {
			return nil, err
		}
		if loader != "" && !seen[loader] {
			seen[loader] = true
			source, err := find(root, append([]string{"lib64", "usr/lib64"}, dirs...), path.Base(loader))
			if err != nil {
				return nil, err
			}
			files = append(files, File{Path: loader, Source: source})
		}
		for _, name := range needed {
			if seen[name] || strings.HasPrefix(name, "ld-linux") {
				continue
			}
			seen[name] = true
			source, err := find(root, dirs, name)
			if err != nil {
				return nil, err
			}
			files = append(files, File{Path: path.Join(libraryDir, name), Source: source, Mode: 0o644})
			queue = append(queue, source)
		}
	}
	return files, nil
}

// dependencies reads an ELF file's list of libraries and its loader.
func dependencies(program string) (needed []string, loader string, err error) {
	f, err := elf.Open(program)
	if err != nil {
		return nil, "", fmt.Errorf("read %s: %w", program, err)
	}
	defer f.Close()
	if needed, err = f.ImportedLibraries(); err != nil {
		return nil, "", err
	}
	for _, segment := range f.Progs {
		if segment.Type != elf.PT_INTERP {
			continue
		}
		content := make([]byte, segment.Filesz)
		if _, err := segment.ReadAt(content, 0); err != nil {
			return nil, "", err
		}
		loader = strings.TrimRight(string(content), "\x00")
	}
	return needed, loader, nil
}

// find looks for a file by its name in folders of root. A link in a package may be absolute, and right only when root is
// the root.
func find(root string, dirs []string, name string) (string, error) {
	for _, dir := range dirs {
		file := filepath.Join(root, dir, name)
		if target, err := os.Readlink(file); err == nil && filepath.IsAbs(target) {
			file = filepath.Join(root, target)
		}
		if real, err := filepath.EvalSymlinks(file); err == nil {
			return real, nil
		}
	}
	return "", fmt.Errorf("no %s below %s", name, root)
}
