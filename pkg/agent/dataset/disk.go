// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package dataset

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// Files says where the server keeps its data, by its own configuration.
type Files struct {
	// Dir is the data directory.
	Dir string
	// AppendOnly: the server will load the append-only file, and only that.
	AppendOnly bool
	// Stale: the append-only file lacks what was written last. The server had ceased to keep it, or not kept another for long enough.
	Stale bool
	// RDB, AppendDir and AppendFile default to the server's own names.
	RDB, AppendDir, AppendFile string
}

// Kind is the kind of file that holds the data.
type Kind string

// The kinds. KindNone: there is no data.
const (
	KindNone Kind = ""
	KindRDB  Kind = "snapshot"
	KindAOF  Kind = "append-only file"
)

// Disk is what is there.
type Disk struct {
	// Kind holds the data that should be loaded.
	Kind Kind
	// Converts: the server as configured would not load Kind, because its way of persistence was changed since. Without help
	// it would start empty, or with something older.
	Converts bool
	// ReplID and Offset of the data; empty where the files do not tell.
	ReplID string
	Offset int64
	// Written is when the files were last written.
	Written time.Time
}

// HasData tells whether there are keys.
func (d Disk) HasData() bool { return d.Kind != KindNone }

// Look reads what the directory holds. A file that cannot be read counts as data: it may only need a person.
func Look(files Files) (Disk, error) {
	files = files.withDefaults()
	snapshot, err := files.snapshot()
	if err != nil {
		return Disk{}, err
	}
	appended, exists, err := files.appended()
	if err != nil {
		return Disk{}, err
	}
	// An append-only file that is kept tells all, also that nothing is left. One of former times counts if nothing came after.
	disk := snapshot
	if exists && (files.AppendOnly && !files.Stale || appended.Written.After(snapshot.Written)) {
		disk = appended
	}
	disk.Converts = disk.HasData() && files.AppendOnly != (disk.Kind == KindAOF)
	return disk, nil
}

func (f Files) withDefaults() Files {
	if f.RDB == "" {
		f.RDB = "dump.rdb"
	}
	if f.AppendDir == "" {
		f.AppendDir = "appendonlydir"
	}
	if f.AppendFile == "" {
		f.AppendFile = "appendonly.aof"
	}
	return f
}

func (f Files) snapshot() (Disk, error) {
	path := filepath.Join(f.Dir, f.RDB)
	head, written, err := readFile(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return Disk{}, nil
	case err != nil && written.IsZero():
		return Disk{}, fmt.Errorf("read %s: %w", path, err)
	case err == nil && head.empty:
		return Disk{Written: written}, nil
	}
	return Disk{Kind: KindRDB, ReplID: head.replID, Offset: head.offset, Written: written}, nil
}

// readFile is the header of an RDB file. written is set once the file could be opened.
func readFile(path string) (head header, written time.Time, err error) {
	file, err := os.Open(path)
	if err != nil {
		return header{}, time.Time{}, err
	}
	defer func() { _ = file.Close() }()
	info, err := file.Stat()
	if err != nil {
		return header{}, time.Time{}, err
	}
	head, err = readHeader(file)
	return head, info.ModTime(), err
}

// appended looks at the parts of the append-only file: a base, which is an RDB file or a log, and logs of what came after.
// Where they stand in the history of replication is not written in them.
func (f Files) appended() (disk Disk, exists bool, err error) {
	entries, err := os.ReadDir(filepath.Join(f.Dir, f.AppendDir))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return Disk{}, false, fmt.Errorf("read %s: %w", f.AppendDir, err)
	}
	paths := []string{filepath.Join(f.Dir, f.AppendFile)} // as versions before 7 had it; the server converts it
	for _, entry := range entries {
		if strings.HasPrefix(entry.Name(), f.AppendFile+".") && !strings.HasSuffix(entry.Name(), ".manifest") {
			paths = append(paths, filepath.Join(f.Dir, f.AppendDir, entry.Name()))
		}
	}
	for _, path := range paths {
		info, err := os.Stat(path)
		if err != nil {
			continue
		}
		exists = true
		if info.ModTime().After(disk.Written) {
			disk.Written = info.ModTime()
		}
		if info.Size() == 0 {
			continue
		}
		if strings.HasSuffix(path, ".rdb") {
			if head, _, err := readFile(path); err == nil && head.empty {
				continue
			}
		}
		disk.Kind = KindAOF
	}
	return disk, exists, nil
}
