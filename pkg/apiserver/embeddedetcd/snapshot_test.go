// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package embeddedetcd

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
)

func snapshotOf(t *testing.T, endpoint string) string {
	t.Helper()
	file, err := os.Create(filepath.Join(t.TempDir(), "snapshot.db"))
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(Snapshot(t.Context(), endpoint, nil, file), file.Close()); err != nil {
		t.Fatal(err)
	}
	return file.Name()
}

func valueOf(t *testing.T, client *clientv3.Client, key string) (string, int64) {
	t.Helper()
	got, err := client.Get(t.Context(), key)
	if err != nil {
		t.Fatal(err)
	}
	if len(got.Kvs) == 0 {
		return "", got.Header.Revision
	}
	return string(got.Kvs[0].Value), got.Header.Revision
}

func TestASnapshotIsRestored(t *testing.T) {
	directory := filepath.Join(t.TempDir(), "data")
	server, client := start(t, directory)
	put := func(value string) {
		t.Helper()
		if _, err := client.Put(t.Context(), "key", value); err != nil {
			t.Fatal(err)
		}
	}
	put("early")
	url, err := ClientURL(directory)
	if err != nil || url != server.Endpoint() {
		t.Errorf("it is said to listen on %q, and does on %q: %v", url, server.Endpoint(), err)
	}
	file := snapshotOf(t, url)
	put("late")
	_, late := valueOf(t, client, "key")
	short, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	if _, err := Restore(short, directory, file, true, time.Now()); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a restore beside a running server: %v", err)
	}
	server.Close()

	if _, err := Restore(t.Context(), directory, file, false, time.Now()); err == nil || !strings.Contains(err.Error(), "--replace") {
		t.Errorf("a restore over data: %v", err)
	}
	restored, err := Restore(t.Context(), directory, file, true, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	if restored.Revision != 2 || restored.Kept == "" {
		t.Errorf("restored %+v", restored)
	}
	if _, err := os.Stat(filepath.Join(restored.Kept, "member", "snap", "db")); err != nil {
		t.Errorf("what was there is not kept: %v", err)
	}
	_, client = start(t, directory)
	value, revision := valueOf(t, client, "key")
	if value != "early" || revision <= late {
		t.Errorf("%q at revision %d; clients know revision %d", value, revision, late)
	}
	got := <-client.Watch(t.Context(), "key", clientv3.WithRev(late))
	if !errors.Is(got.Err(), rpctypes.ErrCompacted) {
		t.Errorf("a watch from before the restore: %v", got.Err())
	}
}

func TestSnapshotsThatCannotBeRestored(t *testing.T) {
	server, client := start(t, filepath.Join(t.TempDir(), "data"))
	if _, err := client.Put(t.Context(), "key", "value"); err != nil {
		t.Fatal(err)
	}
	whole, err := os.ReadFile(snapshotOf(t, server.Endpoint()))
	if err != nil {
		t.Fatal(err)
	}
	changed := append([]byte{}, whole...)
	changed[len(changed)/2] ^= 1
	for name, c := range map[string]struct {
		content []byte
		want    string
	}{
		"cut off": {whole[:len(whole)/2], "it does not end with a checksum"},
		"changed": {changed, "expected sha256"},
		"empty":   {nil, "it does not end with a checksum"},
		"a text":  {[]byte("apiVersion: v1\nkind: List\n"), "it does not end with a checksum"},
	} {
		t.Run(name, func(t *testing.T) {
			file, directory := filepath.Join(t.TempDir(), "file"), filepath.Join(t.TempDir(), "data")
			if err := os.WriteFile(file, c.content, 0o600); err != nil {
				t.Fatal(err)
			}
			if _, err := Restore(t.Context(), directory, file, false, time.Now()); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %q", err, c.want)
			}
			left, err := filepath.Glob(filepath.Join(directory, memberDirectory+"*"))
			if err != nil || len(left) > 0 {
				t.Errorf("left behind: %v, %v", left, err)
			}
		})
	}
	if _, err := Restore(t.Context(), t.TempDir(), filepath.Join(t.TempDir(), "none"), false, time.Now()); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("no file: %v", err)
	}
	if err := Snapshot(t.Context(), "unix:///nowhere/client.sock", nil, io.Discard); err == nil || !strings.Contains(err.Error(), "no etcd answers there") {
		t.Errorf("no server: %v", err)
	}
}

func TestDamagedDataSayWhatToDo(t *testing.T) {
	for name, damage := range map[string]string{"the database": "member/snap/db", "the log": "member/wal/*.wal"} {
		t.Run(name, func(t *testing.T) {
			directory := filepath.Join(t.TempDir(), "data")
			server, client := start(t, directory)
			if _, err := client.Put(t.Context(), "key", "value"); err != nil {
				t.Fatal(err)
			}
			server.Close()
			files, err := filepath.Glob(filepath.Join(directory, memberDirectory, damage))
			if err != nil || len(files) == 0 {
				t.Fatalf("nothing to damage: %v", err)
			}
			for _, file := range files {
				if err := os.WriteFile(file, []byte(strings.Repeat("damaged ", 4096)), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
			defer cancel()
			again, err := Start(ctx, Options{DataDir: directory})
			if err == nil {
				again.Close()
				t.Fatal("it started")
			}
			if !strings.Contains(err.Error(), "valkey-apiserver etcd restore --data-dir "+directory) {
				t.Errorf("it does not say what to do: %v", err)
			}
		})
	}
}
