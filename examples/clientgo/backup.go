// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package clientgo

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/valkeykube/valkeykube/pkg/generated/clientset/versioned"
)

// Backup writes the dataset of a Valkey into a file, as RDB. The file appears when it is whole: a source that fails in the middle
// fails the reading, and what was there before stays.
func Backup(ctx context.Context, client versioned.Interface, namespace, name, path string) error {
	content, err := client.ValkeyV1alpha1().Valkeys(namespace).GetSnapshot(ctx, name)
	if err != nil {
		return fmt.Errorf("ask for the dataset of %s: %w", name, err)
	}
	defer func() { _ = content.Close() }()
	part, err := os.CreateTemp(filepath.Dir(path), ".part-*")
	if err != nil {
		return err
	}
	defer func() { _ = os.Remove(part.Name()) }()
	_, err = io.Copy(part, content)
	if err := errors.Join(err, part.Sync(), part.Close()); err != nil {
		return fmt.Errorf("read the dataset of %s: %w", name, err)
	}
	return os.Rename(part.Name(), path)
}
