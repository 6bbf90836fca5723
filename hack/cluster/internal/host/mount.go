// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package host

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// Mount is a line of the mount table.
type Mount struct{ Path, Type string }

// Mounts reads the mount table, in the order in which things were mounted.
func Mounts() ([]Mount, error) {
	table, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return nil, err
	}
	return parseMounts(string(table)), nil
}

func parseMounts(table string) []Mount {
	// The kernel writes blanks in paths as octal numbers.
	unescape := strings.NewReplacer("\\040", " ", "\\011", "\t", "\\012", "\n", "\\134", "\\")
	var mounts []Mount
	for line := range strings.Lines(table) {
		before, after, found := strings.Cut(strings.TrimSpace(line), " - ")
		fields := strings.Fields(before)
		if !found || len(fields) < 5 {
			continue
		}
		fsType, _, _ := strings.Cut(after, " ")
		mounts = append(mounts, Mount{Path: unescape.Replace(fields[4]), Type: fsType})
	}
	return mounts
}

// below tells whether a path is root or below it.
func below(path, root string) bool {
	return path == root || strings.HasPrefix(path, strings.TrimSuffix(root, "/")+"/")
}

// UnmountBelow unmounts everything at or below root, the last mounted first.
func UnmountBelow(root string) error {
	mounts, err := Mounts()
	if err != nil {
		return err
	}
	slices.Reverse(mounts)
	var left []string
	for _, m := range mounts {
		if !below(m.Path, filepath.Clean(root)) {
			continue
		}
		if unix.Unmount(m.Path, unix.UMOUNT_NOFOLLOW) == nil {
			continue
		}
		if err := unix.Unmount(m.Path, unix.MNT_DETACH|unix.UMOUNT_NOFOLLOW); err != nil && !errors.Is(err, unix.EINVAL) {
			left = append(left, m.Path)
		}
	}
	if len(left) > 0 {
		return fmt.Errorf("cannot unmount %v", left)
	}
	return nil
}
