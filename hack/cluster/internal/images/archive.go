// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package images

import (
	"archive/tar"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
)

// Archive is an image in a file that a container runtime can import.
type Archive struct {
	Reference, Path string
	// Digest identifies the content, the same as the runtime's own.
	Digest string
}

// Assemble returns the archive of an image. It is made once per content and kept in dir.
func Assemble(dir string, image Image) (Archive, error) {
	key, err := image.key()
	if err != nil {
		return Archive{}, fmt.Errorf("image %s: %w", image.Reference, err)
	}
	place := filepath.Join(dir, strings.NewReplacer("/", "_", ":", "_").Replace(image.Reference)+"-"+key)
	archive := Archive{Reference: image.Reference, Path: filepath.Join(place, "image.tar")}
	if digest, err := os.ReadFile(filepath.Join(place, "digest")); err == nil {
		archive.Digest = string(digest)
		return archive, nil
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return Archive{}, err
	}
	tmp, err := os.MkdirTemp(dir, ".making-*")
	if err != nil {
		return Archive{}, err
	}
	defer os.RemoveAll(tmp)
	if archive.Digest, err = write(tmp, image); err != nil {
		return Archive{}, fmt.Errorf("image %s: %w", image.Reference, err)
	}
	if err := os.WriteFile(filepath.Join(tmp, "digest"), []byte(archive.Digest), 0o644); err != nil {
		return Archive{}, err
	}
	if err := os.Chmod(tmp, 0o755); err != nil {
		return Archive{}, err
	}
	if err := os.Rename(tmp, place); err != nil {
		// Somebody else was faster: theirs has the same content.
		if _, statErr := os.Stat(archive.Path); statErr != nil {
			return Archive{}, err
		}
	}
	return archive, dropOthers(dir, image.Reference, 4)
}

// write makes dir/image.tar, an OCI image layout, and returns the digest of the image.
func write(dir string, image Image) (digest string, err error) {
	built, err := image.build(runtime.GOARCH)
	if err != nil {
		return "", err
	}
	tree := filepath.Join(dir, "layout")
	path, err := layout.Write(tree, empty.Index)
	if err != nil {
		return "", err
	}
	name := layout.WithAnnotations(map[string]string{"io.containerd.image.name": image.Reference})
	if err := path.AppendImage(built, name); err != nil {
		return "", err
	}
	hash, err := built.Digest()
	if err != nil {
		return "", err
	}
	if err := pack(tree, filepath.Join(dir, "image.tar")); err != nil {
		return "", err
	}
	return hash.String(), os.RemoveAll(tree)
}

// pack writes the files of a folder to a tar archive.
func pack(dir, target string) error {
	f, err := os.Create(target)
	if err != nil {
		return err
	}
	defer f.Close()
	w := tar.NewWriter(f)
	err = filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		rel, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		return packFile(w, path, rel)
	})
	if err != nil {
		return err
	}
	if err := w.Close(); err != nil {
		return err
	}
	return f.Close()
}

func packFile(w *tar.Writer, path, name string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	if err := w.WriteHeader(&tar.Header{Name: name, Mode: 0o644, Size: info.Size()}); err != nil {
		return err
	}
	_, err = io.Copy(w, f)
	return err
}

// dropOthers keeps the newest archives of a reference.
func dropOthers(dir, reference string, keep int) error {
	stem := strings.NewReplacer("/", "_", ":", "_").Replace(reference)
	places, err := filepath.Glob(filepath.Join(dir, stem+"-*"))
	if err != nil || len(places) <= keep {
		return err
	}
	age := func(path string) int64 {
		info, err := os.Stat(path)
		if err != nil {
			return 0
		}
		return info.ModTime().UnixNano()
	}
	for len(places) > keep {
		oldest := 0
		for i := range places {
			if age(places[i]) < age(places[oldest]) {
				oldest = i
			}
		}
		if err := os.RemoveAll(places[oldest]); err != nil {
			return err
		}
		places = append(places[:oldest], places[oldest+1:]...)
	}
	return nil
}
