// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package dataset

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/valkey-io/valkey-go"

	"github.com/valkeykube/valkeykube/pkg/valkeyclient"
	"github.com/valkeykube/valkeykube/pkg/valkeyclient/valkeytest"
)

func look(t *testing.T, files Files) Disk {
	t.Helper()
	disk, err := Look(files)
	if err != nil {
		t.Fatal(err)
	}
	return disk
}

// What real servers of each version leave on disk.
func TestRealServers(t *testing.T) {
	valkeytest.Each(t, func(t *testing.T, binary valkeytest.Binary) {
		saving := []string{"save 3600 1"}
		primary := valkeytest.StartServer(t, valkeytest.Options{Binary: binary, Config: saving})
		if disk := look(t, Files{Dir: primary.Dir}); disk.HasData() {
			t.Errorf("before anything was written: %+v", disk)
		}
		shutdown(t, primary)
		if disk := look(t, Files{Dir: primary.Dir}); disk.HasData() {
			t.Errorf("saved without keys: %+v", disk)
		}
		primary.Start()
		set(t, primary)
		shutdown(t, primary)
		if disk := look(t, Files{Dir: primary.Dir}); disk.Kind != KindRDB || disk.ReplID != "" {
			t.Errorf("a primary that never had a replica: %+v", disk)
		}
		primary.Start()

		replica := valkeytest.StartServer(t, valkeytest.Options{Binary: binary, Config: append(saving, "appendonly yes")})
		if disk := look(t, Files{Dir: replica.Dir, AppendOnly: true}); disk.HasData() {
			t.Errorf("an empty append-only file: %+v", disk)
		}
		if err := replica.Node().ReplicaOf(t.Context(), primary.Address); err != nil {
			t.Fatal(err)
		}
		valkeytest.Eventually(t, "link", func(ctx context.Context) error {
			replication, err := replica.Node().Replication(ctx)
			if err == nil && !replication.LinkUp {
				err = os.ErrDeadlineExceeded
			}
			return err
		})
		set(t, primary)
		valkeytest.Eventually(t, "the write is replicated", func(ctx context.Context) error {
			keys, err := replica.Node().DBSize(ctx)
			if err == nil && keys != 1 {
				err = os.ErrDeadlineExceeded
			}
			return err
		})
		// The copy is written to a new append-only file in the background.
		valkeytest.Eventually(t, "an append-only file", func(context.Context) error {
			if disk := look(t, Files{Dir: replica.Dir, AppendOnly: true}); disk.Kind != KindAOF || disk.Converts {
				return fmt.Errorf("%+v", disk)
			}
			return nil
		})
		shutdown(t, replica)
		replication, err := primary.Node().Replication(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		shutdown(t, primary)
		disk := look(t, Files{Dir: primary.Dir})
		if disk.Kind != KindRDB || disk.ReplID != replication.ReplID || disk.Offset < replication.Offset {
			t.Errorf("a primary with a replica: %+v, the server said %+v", disk, replication)
		}
	})
}

func set(t *testing.T, server *valkeytest.Process) {
	t.Helper()
	client, err := valkey.NewClient(valkey.ClientOption{InitAddress: []string{server.Address.String()}, ForceSingleClient: true, DisableCache: true})
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	if err := client.Do(t.Context(), client.B().Set().Key("key").Value("value").Build()).Error(); err != nil {
		t.Fatal(err)
	}
}

func shutdown(t *testing.T, server *valkeytest.Process) {
	t.Helper()
	if err := server.Node().Shutdown(t.Context(), valkeyclient.ShutdownOptions{}); err != nil {
		t.Fatal(err)
	}
	<-server.Exited()
}

var (
	emptyRDB = []byte("REDIS0011\xfa\x0avalkey-ver\x058.1.1\xfa\x08aof-base\xc0\x00\xff12345678")
	fullRDB  = []byte("VALKEY080\xfa\x07repl-id\x28" + "0123456789012345678901234567890123456789" + "\xfa\x0brepl-offset\x0c123456789012\xfe\x00\xfb\x01\x00")
)

// write puts a file there that was last written so many seconds ago.
func write(t *testing.T, dir, name string, content []byte, ago int) {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
	when := time.Now().Add(-time.Duration(ago) * time.Second)
	if err := os.Chtimes(path, when, when); err != nil {
		t.Fatal(err)
	}
}

func TestWhatIsToBeLoaded(t *testing.T) {
	const base, log = "appendonlydir/appendonly.aof.1.base.rdb", "appendonlydir/appendonly.aof.1.incr.aof"
	cases := map[string]struct {
		appendOnly   bool
		stale        bool
		files        func(t *testing.T, dir string)
		kind         Kind
		wantConverts bool
	}{
		"nothing": {files: func(*testing.T, string) {}},
		"a snapshot": {
			files: func(t *testing.T, dir string) { write(t, dir, "dump.rdb", fullRDB, 0) }, kind: KindRDB,
		},
		"an empty snapshot": {
			files: func(t *testing.T, dir string) { write(t, dir, "dump.rdb", emptyRDB, 0) },
		},
		"persistence changed from RDB to AOF": {
			appendOnly: true, kind: KindRDB, wantConverts: true,
			files: func(t *testing.T, dir string) { write(t, dir, "dump.rdb", fullRDB, 0) },
		},
		"AOF beside the snapshot of a copy": {
			appendOnly: true, kind: KindAOF,
			files: func(t *testing.T, dir string) {
				write(t, dir, "dump.rdb", fullRDB, 0)
				write(t, dir, base, emptyRDB, 9)
				write(t, dir, log, []byte("*1\r\n"), 9)
			},
		},
		"all was deleted, the old snapshot must not come back": {
			appendOnly: true,
			files: func(t *testing.T, dir string) {
				write(t, dir, "dump.rdb", fullRDB, 9)
				write(t, dir, base, emptyRDB, 0)
				write(t, dir, log, nil, 0)
			},
		},
		"persistence changed from AOF to RDB": {
			kind: KindAOF, wantConverts: true,
			files: func(t *testing.T, dir string) {
				write(t, dir, "dump.rdb", fullRDB, 9)
				write(t, dir, base, fullRDB, 5)
				write(t, dir, log, nil, 5)
			},
		},
		"and snapshots were taken since": {
			kind: KindRDB,
			files: func(t *testing.T, dir string) {
				write(t, dir, "dump.rdb", fullRDB, 1)
				write(t, dir, base, fullRDB, 5)
			},
		},
		"and all was deleted since": {
			files: func(t *testing.T, dir string) {
				write(t, dir, "dump.rdb", emptyRDB, 1)
				write(t, dir, base, fullRDB, 5)
			},
		},
		"a snapshot that is damaged is data": {
			kind:  KindRDB,
			files: func(t *testing.T, dir string) { write(t, dir, "dump.rdb", []byte("what is this"), 1) },
		},
		"a snapshot that was cut off is data": {
			kind:  KindRDB,
			files: func(t *testing.T, dir string) { write(t, dir, "dump.rdb", fullRDB[:30], 1) },
		},
		"AOF after a time of snapshots, not written anew yet": {
			appendOnly: true, stale: true, kind: KindRDB, wantConverts: true,
			files: func(t *testing.T, dir string) {
				write(t, dir, "dump.rdb", fullRDB, 1)
				write(t, dir, base, fullRDB, 5)
			},
		},
		"and no snapshot was taken in that time": {
			appendOnly: true, stale: true, kind: KindAOF,
			files: func(t *testing.T, dir string) {
				write(t, dir, "dump.rdb", fullRDB, 9)
				write(t, dir, base, fullRDB, 5)
			},
		},
		"an append-only file of old times": {
			appendOnly: true, kind: KindAOF,
			files: func(t *testing.T, dir string) { write(t, dir, "appendonly.aof", []byte("*1\r\n"), 1) },
		},
	}
	for name, test := range cases {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			test.files(t, dir)
			if disk := look(t, Files{Dir: dir, AppendOnly: test.appendOnly, Stale: test.stale}); disk.Kind != test.kind || disk.Converts != test.wantConverts {
				t.Errorf("got %+v", disk)
			}
		})
	}
}

func TestPositionInTheHeader(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "other.rdb", fullRDB, 0)
	disk := look(t, Files{Dir: dir, RDB: "other.rdb"})
	if disk.ReplID != "0123456789012345678901234567890123456789" || disk.Offset != 123456789012 {
		t.Errorf("got %+v", disk)
	}
}

func TestADirectoryThatCannotBeRead(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "appendonlydir", nil, 0) // a file in its place
	if _, err := Look(Files{Dir: dir}); err == nil {
		t.Error("no error")
	}
}

func FuzzReadHeader(f *testing.F) {
	f.Add(emptyRDB)
	f.Add(fullRDB)
	f.Add([]byte("REDIS0011\xfa\x40\x01a\x80\x00\x00\x00\x01b\xfa\x01c\xc1\xff\xff\xfa\x01d\x81\xff\xff\xff\xff\xff\xff\xff\xff"))
	f.Fuzz(func(t *testing.T, content []byte) {
		h, err := readHeader(bytes.NewReader(content))
		if err != nil && h.empty {
			t.Error("an error, and empty all the same")
		}
	})
}
