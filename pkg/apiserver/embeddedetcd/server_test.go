// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package embeddedetcd

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
)

func start(t *testing.T, directory string) (*Server, *clientv3.Client) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	server, err := Start(ctx, Options{DataDir: directory})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(server.Close)
	client, err := clientv3.New(clientv3.Config{Endpoints: []string{server.Endpoint()}, DialTimeout: 5 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = client.Close() })
	return server, client
}

func TestWhatWasWrittenIsThereAfterARestart(t *testing.T) {
	directory := filepath.Join(t.TempDir(), "new")
	server, client := start(t, directory)
	if _, err := client.Put(t.Context(), "key", "value"); err != nil {
		t.Fatal(err)
	}
	sockets := []string{filepath.Join(directory, clientSocket), filepath.Join(directory, peerSocket)}
	for _, socket := range sockets {
		if info, err := os.Stat(socket); err != nil || info.Mode().Type() != os.ModeSocket {
			t.Errorf("it does not listen on %s: %v", socket, err)
		}
	}
	server.Close()
	server.Close()
	for _, socket := range sockets {
		if _, err := os.Stat(socket); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s is left: %v", socket, err)
		}
	}
	select {
	case <-server.Stopped():
	case <-time.After(10 * time.Second):
		t.Fatal("Close returned and it has not stopped")
	}

	_, client = start(t, directory)
	got, err := client.Get(t.Context(), "key")
	if err != nil {
		t.Fatal(err)
	}
	if len(got.Kvs) != 1 || string(got.Kvs[0].Value) != "value" {
		t.Errorf("got %v", got.Kvs)
	}
	info, err := os.Stat(directory)
	if err != nil {
		t.Fatal(err)
	}
	if info.Mode().Perm() != 0o700 {
		t.Errorf("the data directory has mode %v", info.Mode().Perm())
	}
}

func TestDataOfARunningServerAreNotOpenedTwice(t *testing.T) {
	directory := t.TempDir()
	_, client := start(t, directory)
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	if second, err := Start(ctx, Options{DataDir: directory}); !errors.Is(err, context.DeadlineExceeded) {
		if second != nil {
			second.Close()
		}
		t.Errorf("a second server: %v", err)
	}
	if _, err := client.Put(t.Context(), "key", "value"); err != nil {
		t.Errorf("the first server: %v", err)
	}
}

func TestDirectoriesThatCannotBeUsed(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for name, directory := range map[string]string{
		"a file":         file,
		"too long paths": filepath.Join(t.TempDir(), strings.Repeat("d", 100)),
	} {
		if server, err := Start(t.Context(), Options{DataDir: directory}); err == nil {
			server.Close()
			t.Errorf("%s: started", name)
		}
	}
}
