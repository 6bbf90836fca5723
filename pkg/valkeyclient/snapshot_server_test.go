// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package valkeyclient_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/valkeykube/valkeykube/pkg/valkeyclient"
	"github.com/valkeykube/valkeykube/pkg/valkeyclient/valkeytest"
)

// fill gives a server keys of all types, and a few MiB.
func fill(server *valkeytest.Process) {
	server.Command("DEBUG", "POPULATE", "20000", "key", "200")
	server.Command("SADD", "set", "a", "b")
	server.Command("HSET", "hash", "f", "v")
	server.Command("ZADD", "zset", "1.5", "m")
	server.Command("RPUSH", "list", "1", "2", "3")
	server.Command("XADD", "stream", "1-1", "f", "v")
	server.Command("SET", "expires", "1", "EX", "100000")
}

func startFrom(t *testing.T, binary valkeytest.Binary, rdb string) *valkeytest.Process {
	t.Helper()
	return valkeytest.StartServer(t, valkeytest.Options{Binary: binary, Name: "restored", Config: []string{"dir " + filepath.Dir(rdb), "dbfilename " + filepath.Base(rdb)}})
}

func TestSnapshot(t *testing.T) {
	for _, binary := range valkeytest.Binaries(t) {
		for _, way := range []string{"yes", "no"} {
			t.Run(binary.Version+" without a disk: "+way, func(t *testing.T) {
				server := valkeytest.StartServer(t, valkeytest.Options{Binary: binary, Config: []string{"repl-diskless-sync " + way}})
				fill(server)
				taken, err := valkeytest.NewClient(t).Snapshot(t.Context(), server.Target())
				if err != nil {
					t.Fatal(err)
				}
				file := filepath.Join(t.TempDir(), "taken.rdb")
				content, err := io.ReadAll(taken)
				if err != nil {
					t.Fatal(err)
				}
				if err := errors.Join(taken.Close(), os.WriteFile(file, content, 0o600)); err != nil {
					t.Fatal(err)
				}
				if want, got := server.Command("DEBUG", "DIGEST"), startFrom(t, binary, file).Command("DEBUG", "DIGEST"); want != got || len(want) != 40 {
					t.Errorf("the dataset is %s, what was restored %s", want, got)
				}
				// Nothing of it remains, and nobody took it for a replica.
				valkeytest.Eventually(t, "no connection", func(ctx context.Context) error {
					replication, err := server.Node().Replication(ctx)
					if err == nil && len(replication.Replicas) != 0 {
						return fmt.Errorf("%+v", replication.Replicas)
					}
					return err
				})
			})
		}
	}
}

func TestSnapshotOfAServerThatDies(t *testing.T) {
	server := valkeytest.StartServer(t, valkeytest.Options{Binary: valkeytest.Default(t), Config: []string{"rdb-key-save-delay 200", "rdbcompression no"}})
	fill(server)
	taken, err := valkeytest.NewClient(t).Snapshot(t.Context(), server.Target())
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	if _, err := io.ReadFull(taken, make([]byte, 100<<10)); err != nil {
		t.Fatal(err)
	}
	server.Kill()
	if _, err := io.Copy(io.Discard, taken); !errors.Is(err, valkeyclient.ErrUnreachable) {
		t.Errorf("got %v", err)
	}
	if _, err := taken.Read(make([]byte, 1)); !errors.Is(err, valkeyclient.ErrUnreachable) {
		t.Errorf("and then %v", err)
	}
	if _, err := valkeytest.NewClient(t).Snapshot(t.Context(), server.Target()); !errors.Is(err, valkeyclient.ErrUnreachable) {
		t.Errorf("a server that is not there: %v", err)
	}
}

func TestSnapshotOfAServerThatHangs(t *testing.T) {
	server := valkeytest.StartServer(t, valkeytest.Options{Binary: valkeytest.Default(t), Config: []string{"rdb-key-save-delay 200", "rdbcompression no"}})
	fill(server)
	client := valkeyclient.New(valkeyclient.Options{SnapshotPatience: 500 * time.Millisecond})
	defer client.Close()
	taken, err := client.Snapshot(t.Context(), server.Target())
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	server.Stop()
	defer server.Cont()
	if _, err := io.Copy(io.Discard, taken); !errors.Is(err, valkeyclient.ErrTimeout) {
		t.Errorf("got %v", err)
	}
	if _, err := client.Snapshot(t.Context(), server.Target()); !errors.Is(err, valkeyclient.ErrTimeout) {
		t.Errorf("another one: %v", err)
	}
}

func TestSnapshotEndsWithItsContext(t *testing.T) {
	server := valkeytest.StartServer(t, valkeytest.Options{Binary: valkeytest.Default(t), Config: []string{"rdb-key-save-delay 200", "rdbcompression no"}})
	fill(server)
	ctx, cancel := context.WithCancel(t.Context())
	taken, err := valkeytest.NewClient(t).Snapshot(ctx, server.Target())
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	cancel()
	if _, err := io.Copy(io.Discard, taken); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

func TestSnapshotIsRefused(t *testing.T) {
	acl := []string{"user default off", "user may on >secret +sync +replconf", "user maynot on >secret +replconf", "user operator on >secret +@all ~*"}
	login := func(user, password string) valkeyclient.Credentials {
		return valkeyclient.Credentials{Username: user, Password: password}
	}
	server := valkeytest.StartServer(t, valkeytest.Options{Binary: valkeytest.Default(t), ACL: acl, Credentials: login("operator", "secret")})
	client := valkeytest.NewClient(t)
	for name, c := range map[string]struct {
		credentials valkeyclient.Credentials
		class       error
	}{
		"a wrong password": {login("may", "wrong-word"), valkeyclient.ErrAuth},
		"no login":         {valkeyclient.Credentials{}, valkeyclient.ErrAuth},
		"no right":         {login("maynot", "secret"), valkeyclient.ErrPermission},
	} {
		_, err := client.Snapshot(t.Context(), server.TargetAs(c.credentials))
		if !errors.Is(err, c.class) || strings.Contains(err.Error(), "secret") || strings.Contains(err.Error(), "wrong-word") {
			t.Errorf("%s: %v", name, err)
		}
	}
	taken, err := client.Snapshot(t.Context(), server.TargetAs(login("may", "secret")))
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	if _, err := io.Copy(io.Discard, taken); err != nil {
		t.Error(err)
	}
	orphan := valkeytest.StartServer(t, valkeytest.Options{Binary: valkeytest.Default(t), Config: []string{"replicaof 127.0.0.1 1"}})
	if _, err := client.Snapshot(t.Context(), orphan.Target()); !errors.Is(err, valkeyclient.ErrUnexpected) || !strings.Contains(err.Error(), "NOMASTERLINK") {
		t.Errorf("a replica without its primary: %v", err)
	}
}

// A server that says what it likes.
func TestSnapshotFromALiar(t *testing.T) {
	mark := strings.Repeat("m", 40)
	whole := "REDIS0011\xff\x00\x00\x00\x00\x00\x00\x00\x00" // a checksum of zero is none
	for name, c := range map[string]struct {
		says  string
		class error
	}{
		"all of it":               {"$18\r\n" + whole, nil},
		"all of it, with a mark":  {"\n\n$EOF:" + mark + "\r\n" + whole + mark, nil},
		"a wrong checksum":        {"$18\r\n" + strings.ReplaceAll(whole, "\x00", "\x01"), valkeyclient.ErrUnexpected},
		"no end":                  {"$18\r\n" + strings.ReplaceAll(whole, "\xff", "\xfe"), valkeyclient.ErrUnexpected},
		"too little":              {"$19\r\n" + whole, valkeyclient.ErrUnreachable},
		"no mark":                 {"$EOF:" + mark + "\r\n" + whole, valkeyclient.ErrUnreachable},
		"nothing":                 {"$0\r\n", valkeyclient.ErrUnexpected},
		"no RDB":                  {"$18\r\nHTTP/1.1 200 OK...", valkeyclient.ErrUnexpected},
		"a short mark":            {"$EOF:m\r\n", valkeyclient.ErrUnexpected},
		"no length":               {"$-1\r\n", valkeyclient.ErrUnexpected},
		"something else entirely": {"+OK\r\n", valkeyclient.ErrUnexpected},
		"an endless line":         {strings.Repeat("x", 100<<10), valkeyclient.ErrUnreachable},
	} {
		t.Run(name, func(t *testing.T) {
			listener, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			defer listener.Close()
			go func() {
				connection, err := listener.Accept()
				if err != nil {
					return
				}
				defer connection.Close()
				_, _ = io.WriteString(connection, "+OK\r\n+OK\r\n"+c.says)
				_ = connection.(*net.TCPConn).CloseWrite()
				_ = connection.SetReadDeadline(time.Now().Add(valkeytest.Patience))
				_, _ = io.Copy(io.Discard, connection)
			}()
			taken, err := valkeytest.NewClient(t).Snapshot(t.Context(), valkeyclient.Target{Address: listener.Addr().String()})
			content := []byte{}
			if err == nil {
				defer taken.Close()
				content, err = io.ReadAll(taken)
			}
			if c.class == nil && (err != nil || string(content) != whole) {
				t.Errorf("got %q, %v", content, err)
			}
			if c.class != nil && (!errors.Is(err, c.class) || strings.HasSuffix(string(content), whole[9:])) {
				t.Errorf("got %q, %v", content, err)
			}
		})
	}
}
