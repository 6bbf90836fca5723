// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package embeddedetcd

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
)

func TestAFullStoreTakesWritesAgainWhenThereIsRoom(t *testing.T) {
	const quota = 4 << 20
	server, err := Start(t.Context(), Options{DataDir: t.TempDir(), QuotaBytes: quota})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(server.Close)
	client, err := clientv3.New(clientv3.Config{Endpoints: []string{server.Endpoint()}, DialTimeout: 5 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = client.Close() })
	value := strings.Repeat("v", 256<<10)
	var full error
	for i := 0; i < 100 && full == nil; i++ {
		_, full = client.Put(t.Context(), fmt.Sprintf("key-%d", i), value)
	}
	if !errors.Is(full, rpctypes.ErrNoSpace) || !server.Full() {
		t.Fatalf("it is not full: %v", full)
	}
	if got, err := client.Get(t.Context(), "key-0"); err != nil || len(got.Kvs) != 1 {
		t.Errorf("reads do not go on: %v", err)
	}
	if err := server.maintain(t.Context()); err == nil || !strings.Contains(err.Error(), "are in use; writes are refused until objects are deleted") {
		t.Errorf("nothing was deleted: %v", err)
	}
	if !server.Full() {
		t.Error("it takes writes without room for them")
	}
	if _, err := client.Delete(t.Context(), "key-", clientv3.WithPrefix()); err != nil {
		t.Fatal(err)
	}
	if err := server.maintain(t.Context()); err != nil {
		t.Fatal(err)
	}
	if server.Full() {
		t.Error("it is still full")
	}
	if _, err := client.Put(t.Context(), "key", value); err != nil {
		t.Errorf("a write when there is room: %v", err)
	}
}

func TestSpaceIsGivenBack(t *testing.T) {
	server, client := start(t, t.TempDir())
	value := strings.Repeat("v", 1<<20)
	for i := range 80 {
		if _, err := client.Put(t.Context(), fmt.Sprintf("key-%d", i), value); err != nil {
			t.Fatal(err)
		}
	}
	deleted, err := client.Delete(t.Context(), "key-", clientv3.WithPrefix())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := client.Compact(t.Context(), deleted.Header.Revision, clientv3.WithCompactPhysical()); err != nil {
		t.Fatal(err)
	}
	server.etcd.Server.Backend().ForceCommit()
	before := server.etcd.Server.Backend().Size()
	if err := server.maintain(t.Context()); err != nil {
		t.Fatal(err)
	}
	if after := server.etcd.Server.Backend().Size(); after > before/2 {
		t.Errorf("%d bytes before, %d after", before, after)
	}
}
