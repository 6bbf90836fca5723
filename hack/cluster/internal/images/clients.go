// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package images

import (
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"

	"github.com/valkeykube/valkeykube/hack/cluster/internal/build"
)

// nodejsParts are what Debian's Node.js reads from its own packages at these places.
var nodejsParts = []string{
	"/usr/share/nodejs/acorn/dist/acorn.js",
	"/usr/share/nodejs/acorn-walk/dist/walk.js",
	"/usr/share/nodejs/cjs-module-lexer/lexer.js",
	"/usr/share/nodejs/cjs-module-lexer/dist/lexer.js",
	"/usr/share/nodejs/minimatch/dist/cjs/index.bundle.js",
	"/usr/share/nodejs/undici/undici-fetch.js",
}

// Clients is the image of the ledger, found in bin, and of programs around client libraries, which are in dir: a folder each. Those for
// Node.js bring their packages; nodejs is the root file system that holds it.
func Clients(nodejs, bin, dir string) (Image, error) {
	node := filepath.Join(nodejs, "usr", "bin", "node")
	linkedTo := []string{node}
	files, err := tree(dir, "/clients")
	if err != nil {
		return Image{}, err
	}
	for _, file := range files {
		if path.Ext(file.Path) == ".node" { // a library's native part
			linkedTo = append(linkedTo, file.Source)
		}
	}
	libraries, err := linked(nodejs, build.LibraryDirs(nodejs), linkedTo...)
	if err != nil {
		return Image{}, err
	}
	files = append(files, libraries...)
	for _, part := range nodejsParts {
		source, err := filepath.EvalSymlinks(filepath.Join(nodejs, part))
		if err != nil {
			return Image{}, fmt.Errorf("parts of Node.js: %w", err)
		}
		files = append(files, File{Path: part, Source: source, Mode: 0o644})
	}
	image := Product(bin, "testclient")
	image.Reference = "docker.io/valkeykube/testclients:dev"
	image.Files = append(image.Files, files...)
	image.Files = append(image.Files, File{Path: "/usr/bin/node", Source: node})
	return image, nil
}

// tree are the files below dir, to be put below target. Links to folders are followed, links to files left out: npm makes those for shells.
func tree(dir, target string) ([]File, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	var files []File
	for _, entry := range entries {
		source, place := filepath.Join(dir, entry.Name()), path.Join(target, entry.Name())
		info, err := os.Stat(source)
		if err != nil {
			return nil, err
		}
		switch {
		case info.IsDir():
			below, err := tree(source, place)
			if err != nil {
				return nil, err
			}
			files = append(files, below...)
		case entry.Type()&fs.ModeSymlink == 0:
			files = append(files, File{Path: place, Source: source})
		}
	}
	return files, nil
}
