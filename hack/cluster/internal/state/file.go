// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package state

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// WriteFile replaces a file in one step and tells whether its content is new. A file that already has the content is
// left as it is.
func WriteFile(path string, content []byte, mode os.FileMode) (changed bool, err error) {
	if old, err := os.ReadFile(path); err == nil && string(old) == string(content) {
		return false, nil
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return false, err
	}
	tmp, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+"-*")
	if err != nil {
		return false, err
	}
	defer os.Remove(tmp.Name())
	defer tmp.Close()
	if _, err := tmp.Write(content); err != nil {
		return false, err
	}
	if err := tmp.Chmod(mode); err != nil {
		return false, err
	}
	return true, os.Rename(tmp.Name(), path)
}

// WriteJSON is WriteFile of a value in JSON.
func WriteJSON(path string, value any) (changed bool, err error) {
	content, err := json.MarshalIndent(value, "", "  ")
	if err != nil {
		return false, err
	}
	return WriteFile(path, append(content, '\n'), 0o644)
}

// ReadJSON reads what WriteJSON wrote.
func ReadJSON(path string, value any) error {
	content, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(content, value); err != nil {
		return fmt.Errorf("read %s: %w", path, err)
	}
	return nil
}

// Lock waits until no other process holds the lock file; the lock ends with release or with the process. The holder may
// remove the file: who waited for the removed one then takes the one that is at the place now.
func Lock(path string) (release func(), err error) {
	for {
		f, err := openLock(path)
		if err != nil {
			return nil, err
		}
		if err := flock(f); err != nil {
			f.Close()
			return nil, fmt.Errorf("lock %s: %w", path, err)
		}
		if held, err := f.Stat(); err == nil {
			if now, err := os.Stat(path); err == nil && os.SameFile(held, now) {
				return func() { f.Close() }, nil
			}
		}
		f.Close()
	}
}

// openLock makes the file and its folder; between the two, somebody may remove the folder.
func openLock(path string) (*os.File, error) {
	for {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return nil, err
		}
		f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR|syscall.O_CLOEXEC, 0o644)
		if !errors.Is(err, fs.ErrNotExist) {
			return f, err
		}
	}
}

func flock(f *os.File) error {
	for {
		err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX)
		if err != syscall.EINTR {
			return err
		}
	}
}
