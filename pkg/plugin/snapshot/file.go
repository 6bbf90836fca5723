// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package snapshot

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/valkeykube/valkeykube/pkg/apis/valkey/v1alpha1"
)

var metaResource = v1alpha1.Resource("valkeys")

// ErrExists is that the file is there already, and was not to be replaced.
var ErrExists = errors.New("the file exists already")

// ToFile receives a snapshot into a file that only its owner can read. The file appears under its name when it is whole; of a part nothing
// remains. One that is there is replaced only with overwrite.
func (s Source) ToFile(ctx context.Context, file string, overwrite bool) (Result, error) {
	if !overwrite {
		if _, err := os.Lstat(file); err == nil {
			return Result{}, fmt.Errorf("%w: %s", ErrExists, file)
		} else if !errors.Is(err, fs.ErrNotExist) {
			return Result{}, err
		}
	}
	part, err := os.CreateTemp(filepath.Dir(file), "."+filepath.Base(file)+".*.part") // mode 0600
	if err != nil {
		return Result{}, err
	}
	defer func() { _ = os.Remove(part.Name()) }()
	result, err := s.Receive(ctx, part)
	if err == nil {
		err = part.Sync()
	}
	if err = errors.Join(err, part.Close()); err != nil {
		return result, err
	}
	result.File = file
	if overwrite {
		return result, os.Rename(part.Name(), file)
	}
	// Unlike a rename, a link does not replace what somebody has put there meanwhile.
	if err := os.Link(part.Name(), file); errors.Is(err, fs.ErrExist) {
		return result, fmt.Errorf("%w: %s", ErrExists, file)
	} else if err != nil { // a file system without links
		return result, os.Rename(part.Name(), file)
	}
	return result, nil
}
