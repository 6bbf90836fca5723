// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package install

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// Copy puts a copy of the file into the directory under the name, executable by everyone. It appears at once and whole: a
// container that is being started meanwhile sees the old one or the new one.
func Copy(file, dir, name string) error {
	from, err := os.Open(file)
	if err != nil {
		return fmt.Errorf("install: %w", err)
	}
	defer func() { _ = from.Close() }()
	to, err := os.CreateTemp(dir, "."+name+"-*")
	if err != nil {
		return fmt.Errorf("install: %w", err)
	}
	defer func() { _ = os.Remove(to.Name()) }() // fails once it is renamed
	if err := write(to, from); err != nil {
		return fmt.Errorf("install %s: %w", to.Name(), err)
	}
	if err := os.Rename(to.Name(), filepath.Join(dir, name)); err != nil {
		return fmt.Errorf("install: %w", err)
	}
	return nil
}

func write(to *os.File, from io.Reader) error {
	_, err := io.Copy(to, from)
	if err == nil {
		err = to.Chmod(0o755)
	}
	if err == nil {
		err = to.Sync()
	}
	if closing := to.Close(); err == nil {
		err = closing
	}
	return err
}
