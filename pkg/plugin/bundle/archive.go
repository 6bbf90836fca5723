// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package bundle

import (
	"archive/tar"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"path"
	"strings"
	"time"

	"sigs.k8s.io/yaml"
)

// archive is a .tar.gz below one folder. Its first error is kept and returned by close.
type archive struct {
	folder  string
	zip     *gzip.Writer
	tar     *tar.Writer
	now     time.Time
	files   int
	missing []string
	err     error
}

func newArchive(w io.Writer, folder string, now time.Time) *archive {
	zip := gzip.NewWriter(w)
	return &archive{folder: folder, zip: zip, tar: tar.NewWriter(zip), now: now}
}

// raw adds a file as it is; everything else redacts.
func (a *archive) raw(name string, content []byte) {
	if a.err != nil {
		return
	}
	header := &tar.Header{
		Typeflag: tar.TypeReg, Name: path.Join(a.folder, clean(name)), Mode: 0o600, Size: int64(len(content)), ModTime: a.now.Truncate(time.Second),
	}
	if a.err = a.tar.WriteHeader(header); a.err == nil {
		_, a.err = a.tar.Write(content)
	}
	a.files++
}

// clean keeps a name below the folder.
func clean(name string) string {
	return strings.TrimPrefix(path.Clean("/"+name), "/")
}

func (a *archive) text(name string, content []byte) { a.raw(name, []byte(Text(string(content)))) }

// object adds an object, or a list of them, as YAML.
func (a *archive) object(name string, object any) {
	encoded, err := json.Marshal(object)
	if err != nil {
		a.lacks(name, err)
		return
	}
	generic := map[string]any{}
	if err := json.Unmarshal(encoded, &generic); err != nil {
		a.lacks(name, err)
		return
	}
	Object(generic)
	if items, ok := generic["items"].([]any); ok {
		for _, item := range items {
			if inner, ok := item.(map[string]any); ok {
				Object(inner)
			}
		}
	}
	text, err := yaml.Marshal(generic)
	if err != nil {
		a.lacks(name, err)
		return
	}
	a.raw(name, text)
}

// lacks notes what could not be had.
func (a *archive) lacks(what string, err error) {
	a.missing = append(a.missing, fmt.Sprintf("%s: %s", what, Text(err.Error())))
}

func (a *archive) close() error {
	for _, err := range []error{a.tar.Close(), a.zip.Close()} {
		if a.err == nil {
			a.err = err
		}
	}
	return a.err
}
