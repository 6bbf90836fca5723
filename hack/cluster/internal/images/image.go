// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package images

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// Image is an image of one layer, described by what is in it.
type Image struct {
	// Reference is the full name under which pods ask for it.
	Reference  string
	Files      []File
	Entrypoint []string
	Cmd        []string
	User       string
	WorkingDir string
}

// File is an entry of the layer. One of Source, Text, Link and Dir says what it is.
type File struct {
	// Path is the absolute place in the image.
	Path string
	// Source is a file of this machine; Text is the content itself; Link is where a symbolic link leads to.
	Source, Text, Link string
	Dir                bool
	// Mode is 0755 when 0; UID is the owner and the group.
	Mode int64
	UID  int
}

// key identifies the image by its description and the content of its files.
func (i Image) key() (string, error) {
	hash := sha256.New()
	if err := json.NewEncoder(hash).Encode(i); err != nil {
		return "", err
	}
	for _, file := range i.Files {
		if file.Source == "" {
			continue
		}
		f, err := os.Open(file.Source)
		if err != nil {
			return "", err
		}
		_, err = io.Copy(hash, f)
		f.Close()
		if err != nil {
			return "", err
		}
	}
	return fmt.Sprintf("%x", hash.Sum(nil))[:20], nil
}

// layer renders the files as a tar archive that is the same whenever and wherever it is made.
func (i Image) layer() ([]byte, error) {
	var buffer bytes.Buffer
	w := tar.NewWriter(&buffer)
	made := map[string]bool{"/": true}
	for _, file := range i.Files {
		if err := addParents(w, made, filepath.Dir(file.Path)); err != nil {
			return nil, err
		}
		if file.Dir {
			made[file.Path] = true
		}
		if err := addFile(w, file); err != nil {
			return nil, fmt.Errorf("add %s: %w", file.Path, err)
		}
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	return buffer.Bytes(), nil
}

func addParents(w *tar.Writer, made map[string]bool, dir string) error {
	if made[dir] {
		return nil
	}
	if err := addParents(w, made, filepath.Dir(dir)); err != nil {
		return err
	}
	made[dir] = true
	return addFile(w, File{Path: dir, Dir: true})
}

func addFile(w *tar.Writer, file File) error {
	header := &tar.Header{Name: file.Path[1:], Mode: file.Mode, Uid: file.UID, Gid: file.UID, ModTime: time.Unix(0, 0), Format: tar.FormatPAX}
	if header.Mode == 0 {
		header.Mode = 0o755
	}
	content := []byte(file.Text)
	switch {
	case file.Dir:
		header.Typeflag, header.Name, content = tar.TypeDir, header.Name+"/", nil
	case file.Link != "":
		header.Typeflag, header.Linkname, content = tar.TypeSymlink, file.Link, nil
	case file.Source != "":
		var err error
		if content, err = os.ReadFile(file.Source); err != nil {
			return err
		}
	}
	header.Size = int64(len(content))
	if err := w.WriteHeader(header); err != nil {
		return err
	}
	_, err := w.Write(content)
	return err
}

// build makes the image itself.
func (i Image) build(architecture string) (v1.Image, error) {
	content, err := i.layer()
	if err != nil {
		return nil, err
	}
	open := func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(content)), nil }
	layer, err := tarball.LayerFromOpener(open, tarball.WithMediaType(types.OCILayer), tarball.WithCompressionLevel(gzip.BestSpeed))
	if err != nil {
		return nil, err
	}
	image := mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), types.OCIConfigJSON)
	image, err = mutate.AppendLayers(image, layer)
	if err != nil {
		return nil, err
	}
	config, err := image.ConfigFile()
	if err != nil {
		return nil, err
	}
	config = config.DeepCopy()
	config.OS, config.Architecture = "linux", architecture
	config.Config = v1.Config{
		Entrypoint: i.Entrypoint,
		Cmd:        i.Cmd,
		User:       i.User,
		WorkingDir: i.WorkingDir,
		Env:        []string{"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"},
	}
	return mutate.ConfigFile(image, config)
}
