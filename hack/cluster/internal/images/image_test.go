// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package images

import (
	"archive/tar"
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

func sample(source string) Image {
	return Image{
		Reference:  "docker.io/valkeykube/sample:dev",
		Entrypoint: []string{"/bin/sample"},
		User:       "65532:65532",
		Files: []File{
			{Path: "/bin/sample", Source: source},
			{Path: "/bin/other", Link: "sample"},
			{Path: "/etc/passwd", Text: "root:x:0:0::/:\n", Mode: 0o644},
			{Path: "/data", Dir: true, UID: 999},
		},
	}
}

func program(t *testing.T, content string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "sample")
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestLayerHoldsWhatIsDescribed(t *testing.T) {
	content, err := sample(program(t, "binary")).layer()
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	entries := map[string]*tar.Header{}
	bodies := map[string]string{}
	reader := tar.NewReader(bytes.NewReader(content))
	for {
		header, err := reader.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(reader)
		if err != nil {
			t.Fatal(err)
		}
		names = append(names, header.Name)
		entries[header.Name], bodies[header.Name] = header, string(body)
	}
	if want := []string{"bin/", "bin/sample", "bin/other", "etc/", "etc/passwd", "data/"}; !slices.Equal(names, want) {
		t.Fatalf("entries %v, want %v", names, want)
	}
	if e := entries["bin/sample"]; e.Mode != 0o755 || e.Uid != 0 || bodies["bin/sample"] != "binary" {
		t.Errorf("program: mode %o owner %d %q", e.Mode, e.Uid, bodies["bin/sample"])
	}
	if e := entries["bin/other"]; e.Typeflag != tar.TypeSymlink || e.Linkname != "sample" {
		t.Errorf("link: %c %q", e.Typeflag, e.Linkname)
	}
	if e := entries["data/"]; e.Typeflag != tar.TypeDir || e.Uid != 999 || e.Gid != 999 {
		t.Errorf("folder: %c %d:%d", e.Typeflag, e.Uid, e.Gid)
	}
}

func TestDigestFollowsTheContentAlone(t *testing.T) {
	first, err := Assemble(t.TempDir(), sample(program(t, "one")))
	if err != nil {
		t.Fatal(err)
	}
	// Another folder, another place and time of the same program.
	again, err := Assemble(t.TempDir(), sample(program(t, "one")))
	if err != nil {
		t.Fatal(err)
	}
	other, err := Assemble(t.TempDir(), sample(program(t, "two")))
	if err != nil {
		t.Fatal(err)
	}
	if first.Digest != again.Digest || first.Digest == "" {
		t.Errorf("same content: %s and %s", first.Digest, again.Digest)
	}
	if first.Digest == other.Digest {
		t.Error("other content, same digest")
	}
}

func TestArchiveIsMadeOnceAndOldOnesGo(t *testing.T) {
	dir, source := t.TempDir(), program(t, "0")
	var last Archive
	for i := range 6 {
		if err := os.WriteFile(source, []byte{byte('0' + i)}, 0o600); err != nil {
			t.Fatal(err)
		}
		archive, err := Assemble(dir, sample(source))
		if err != nil {
			t.Fatal(err)
		}
		last = archive
	}
	before, err := os.Stat(last.Path)
	if err != nil {
		t.Fatal(err)
	}
	again, err := Assemble(dir, sample(source))
	if err != nil || again != last {
		t.Fatalf("%+v, %v, want %+v", again, err, last)
	}
	if after, err := os.Stat(last.Path); err != nil || !os.SameFile(before, after) {
		t.Errorf("made again: %v", err)
	}
	places, err := os.ReadDir(dir)
	if err != nil || len(places) != 4 {
		t.Errorf("%d archives are kept, %v, want 4", len(places), err)
	}
}

func TestMissingProgramIsNamed(t *testing.T) {
	if _, err := Assemble(t.TempDir(), Product(t.TempDir(), "valkey-agent")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("error %v", err)
	}
}

func TestLinkedFollowsLibraries(t *testing.T) {
	root := t.TempDir()
	lib := filepath.Join(root, "lib")
	if err := os.MkdirAll(lib, 0o755); err != nil {
		t.Fatal(err)
	}
	// The shell of the machine is linked to at least the C library.
	needed, loader, err := dependencies("/bin/sh")
	if err != nil || len(needed) == 0 || loader == "" {
		t.Fatalf("libraries %v, loader %q, %v", needed, loader, err)
	}
	if _, err := linked(root, []string{"lib"}, "/bin/sh"); err == nil {
		t.Error("no error though the libraries are missing")
	}
	machine := []string{"lib/x86_64-linux-gnu", "usr/lib/x86_64-linux-gnu", "lib64", "usr/lib64", "lib", "usr/lib"}
	files, err := linked("/", machine, "/bin/sh")
	if err != nil {
		t.Fatal(err)
	}
	have := func(path string) bool {
		return slices.ContainsFunc(files, func(f File) bool { return f.Path == path && f.Source != "" })
	}
	if !have(loader) {
		t.Errorf("no loader at %s: %v", loader, files)
	}
	if name := needed[0]; !have(libraryDir + "/" + name) {
		t.Errorf("no %s: %v", name, files)
	}
}

// A link in a package may start at the root of the package's own file system.
func TestFindReadsAbsoluteLinksBelowTheRoot(t *testing.T) {
	root := t.TempDir()
	for _, dir := range []string{"lib", "usr"} {
		if err := os.MkdirAll(filepath.Join(root, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	real := filepath.Join(root, "usr", "libx.so.1.2")
	if err := os.WriteFile(real, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("/usr/libx.so.1.2", filepath.Join(root, "lib", "libx.so.1")); err != nil {
		t.Fatal(err)
	}
	got, err := find(root, []string{"none", "lib"}, "libx.so.1")
	if err != nil || got != real {
		t.Errorf("%s, %v, want %s", got, err, real)
	}
	if _, err := find(root, []string{"lib"}, "liby.so.1"); err == nil {
		t.Error("a missing library is found")
	}
}
