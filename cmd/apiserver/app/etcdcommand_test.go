// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/valkeykube/valkeykube/pkg/apiserver/embeddedetcd"
)

// run is the command line with an input; it returns what was printed.
func run(t *testing.T, input []byte, args ...string) (string, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	command := NewCommand(ctx)
	var output bytes.Buffer
	command.SetArgs(args)
	command.SetIn(bytes.NewReader(input))
	command.SetOut(&output)
	command.SetErr(&bytes.Buffer{})
	err := command.ExecuteContext(ctx)
	return output.String(), err
}

func TestSnapshotAndRestoreByHand(t *testing.T) {
	dataDir := filepath.Join(t.TempDir(), "data")
	etcd, err := embeddedetcd.Start(t.Context(), embeddedetcd.Options{DataDir: dataDir})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(etcd.Close)
	client, err := clientv3.New(clientv3.Config{Endpoints: []string{etcd.Endpoint()}, DialTimeout: 5 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = client.Close() })
	if _, err := client.Put(t.Context(), "key", "value"); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "snapshot.db")
	if out, err := run(t, nil, "etcd", "snapshot", "--data-dir", dataDir, "--output", file); err != nil || out != "" {
		t.Fatalf("%v: %s", err, out)
	}
	if _, err := run(t, nil, "etcd", "snapshot", "--data-dir", dataDir, "-o", file); err == nil || !strings.Contains(err.Error(), "exists already") {
		t.Errorf("over another file: %v", err)
	}
	streamed, err := run(t, nil, "etcd", "snapshot", "--etcd-servers", etcd.Endpoint(), "-o", "-")
	if err != nil {
		t.Fatal(err)
	}
	content, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if len(streamed) != len(content) {
		t.Errorf("%d bytes in the stream, %d in the file", len(streamed), len(content))
	}
	for name, args := range map[string][]string{"a file": {"--from", file}, "a stream": {"--from", "-"}} {
		restored := filepath.Join(t.TempDir(), "restored")
		out, err := run(t, []byte(streamed), append([]string{"etcd", "restore", "--data-dir", restored}, args...)...)
		if err != nil || !strings.Contains(out, "restored revision 2 into "+restored) {
			t.Errorf("from %s: %v: %s", name, err, out)
		}
		left, err := filepath.Glob(filepath.Join(restored, ".restore-*"))
		if err != nil || len(left) > 0 {
			t.Errorf("from %s: left behind %v, %v", name, left, err)
		}
	}
}

func TestEtcdCommandsSayWhatIsMissing(t *testing.T) {
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"snapshot"}, "--output must be set"},
		{[]string{"restore"}, "--from must be set"},
		{[]string{"snapshot", "-o", "-", "--data-dir", t.TempDir()}, "no API server with an etcd of its own runs on"},
		{[]string{"restore", "--from", "/nowhere", "--data-dir", t.TempDir()}, "/nowhere: no such file"},
		{[]string{"snapshot", "-o", "/nowhere/file"}, "/nowhere"},
	} {
		if _, err := run(t, nil, append([]string{"etcd"}, c.args...)...); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v: %v, want %q", c.args, err, c.want)
		}
	}
	help, err := run(t, nil, "etcd", "restore", "--help")
	if err != nil || !strings.Contains(help, "--replace") || strings.Contains(help, "--secure-port") {
		t.Errorf("%v: %s", err, help)
	}
}
