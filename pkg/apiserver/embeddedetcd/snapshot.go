// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package embeddedetcd

import (
	"context"
	"crypto/sha256"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"time"

	"go.etcd.io/etcd/client/pkg/v3/fileutil"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/etcdutl/v3/snapshot"
	"go.uber.org/zap"
)

// revisionBump is how far a restored store's revision lies ahead of its snapshot's. Clients remember the revisions of what was written since
// the snapshot; to them the store must not go back in time.
const revisionBump = 1_000_000_000

// ClientURL is where the server of a data directory listens; an error where none runs.
func ClientURL(dataDir string) (string, error) {
	directory, err := filepath.Abs(dataDir)
	if err != nil {
		return "", fmt.Errorf("data directory %q: %w", dataDir, err)
	}
	path := filepath.Join(directory, clientSocket)
	if _, err := os.Stat(path); err != nil {
		return "", fmt.Errorf("no API server with an etcd of its own runs on %s: %w", directory, err)
	}
	return (&url.URL{Scheme: "unix", Path: path}).String(), nil
}

// Snapshot writes a snapshot of a running etcd, which goes on serving, with a checksum at its end. It is of one moment: nothing that is
// written meanwhile is in it.
func Snapshot(ctx context.Context, endpoint string, certificates *tls.Config, into io.Writer) error {
	client, err := clientv3.New(clientv3.Config{
		Endpoints: []string{endpoint}, TLS: certificates, DialTimeout: 5 * time.Second, Logger: newLogger(),
	})
	if err != nil {
		return fmt.Errorf("snapshot of %s: %w", endpoint, err)
	}
	defer func() { _ = client.Close() }()
	// A snapshot without a server would wait until ctx ends.
	look, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	if _, err := client.Status(look, endpoint); err != nil {
		return fmt.Errorf("snapshot of %s: no etcd answers there: %w", endpoint, err)
	}
	got, err := client.SnapshotWithVersion(ctx)
	if err != nil {
		return fmt.Errorf("snapshot of %s: %w", endpoint, err)
	}
	defer func() { _ = got.Snapshot.Close() }()
	if _, err := io.Copy(into, got.Snapshot); err != nil {
		return fmt.Errorf("snapshot of %s: %w", endpoint, err)
	}
	return nil
}

// Restored is what Restore did.
type Restored struct {
	// Revision of the snapshot.
	Revision int64
	// Kept is where the data are that were there before; empty where there were none.
	Kept string
}

// Restore makes the data directory hold what a snapshot file holds. No server may be running on it. Data that are there already are refused,
// or, with replace, moved aside and kept. Where it fails, everything is as before.
func Restore(ctx context.Context, dataDir, file string, replace bool, now time.Time) (Restored, error) {
	directory, err := dataDirectory(dataDir)
	if err != nil {
		return Restored{}, err
	}
	lock, err := lockDirectory(ctx, directory)
	if err != nil {
		return Restored{}, err
	}
	defer func() { _ = lock.Close() }()
	member := filepath.Join(directory, memberDirectory)
	hasData := fileutil.Exist(member) && !fileutil.DirEmpty(member)
	if hasData && !replace {
		return Restored{}, fmt.Errorf("%s holds data already: restore into another directory, or let them be moved aside with --replace", member)
	}
	made := member + ".restoring"
	if err := os.RemoveAll(made); err != nil {
		return Restored{}, err
	}
	if err := hasChecksum(file); err != nil {
		return Restored{}, fmt.Errorf("restore %s: %w", file, err)
	}
	restored, err := restoreInto(directory, made, file)
	if err != nil {
		return Restored{}, errors.Join(fmt.Errorf("restore %s: %w", file, err), os.RemoveAll(made))
	}
	if hasData {
		restored.Kept = member + ".before-" + now.UTC().Format("20060102T150405.000Z")
		if err := os.Rename(member, restored.Kept); err != nil {
			return Restored{}, errors.Join(err, os.RemoveAll(made))
		}
	} else if err := os.RemoveAll(member); err != nil {
		return Restored{}, err
	}
	return restored, os.Rename(made, member)
}

// restoreInto turns what the library panics over, a file that is no database, into an error.
func restoreInto(directory, made, file string) (restored Restored, err error) {
	defer func() {
		if reason := recover(); reason != nil {
			err = fmt.Errorf("it is damaged: %v", reason)
		}
	}()
	peer := (&url.URL{Scheme: "unix", Path: filepath.Join(directory, peerSocket)}).String()
	manager := snapshot.NewV3(zap.NewNop())
	err = manager.Restore(snapshot.RestoreConfig{
		SnapshotPath: file, Name: memberName, OutputDataDir: made, PeerURLs: []string{peer}, InitialCluster: memberName + "=" + peer,
		InitialClusterToken: "valkey-apiserver", RevisionBump: revisionBump, MarkCompacted: true,
	})
	if err != nil {
		return Restored{}, err
	}
	status, err := manager.Status(filepath.Join(made, "member", "snap", "db"))
	if err != nil {
		return Restored{}, err
	}
	return Restored{Revision: status.Revision - revisionBump}, nil
}

// hasChecksum tells what cannot be a whole snapshot: pages of a database and a checksum of 32 bytes.
func hasChecksum(file string) error {
	info, err := os.Stat(file)
	if err != nil {
		return err
	}
	if info.Size()%512 != sha256.Size {
		return errors.New("it is no snapshot, or not a whole one: it does not end with a checksum")
	}
	return nil
}
