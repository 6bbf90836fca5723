// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package valkeyclient_test

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/valkeykube/valkeykube/pkg/valkeyclient"
	"github.com/valkeykube/valkeykube/pkg/valkeyclient/valkeytest"
)

// counting counts connections that are opened and that are open.
type counting struct{ opened, open atomic.Int64 }

func (c *counting) dial(ctx context.Context, network, address string) (net.Conn, error) {
	connection, err := (&net.Dialer{}).DialContext(ctx, network, address)
	if err != nil {
		return nil, err
	}
	c.opened.Add(1)
	c.open.Add(1)
	return &countedConn{Conn: connection, counting: c}, nil
}

type countedConn struct {
	net.Conn
	counting *counting
	once     sync.Once
}

func (c *countedConn) Close() error {
	c.once.Do(func() { c.counting.open.Add(-1) })
	return c.Conn.Close()
}

func newClient(t *testing.T, options valkeyclient.Options) (*valkeyclient.Client, *counting) {
	t.Helper()
	counter := &counting{}
	if options.Dialer == nil {
		options.Dialer = counter.dial
	}
	client := valkeyclient.New(options)
	t.Cleanup(client.Close)
	return client, counter
}

func nodeOf(t *testing.T, client *valkeyclient.Client, target valkeyclient.Target) valkeyclient.Node {
	t.Helper()
	node, err := client.Node(target)
	if err != nil {
		t.Fatal(err)
	}
	return node
}

func TestConnectionsAreShared(t *testing.T) {
	server := valkeytest.StartServer(t, valkeytest.Options{Binary: valkeytest.Default(t)})
	client, counter := newClient(t, valkeyclient.Options{ClientName: "the-auditor"})
	for name := range map[string]bool{"a": true, "b": true} {
		target := server.Target()
		target.Name = name
		for range 3 {
			if err := nodeOf(t, client, target).Ping(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
	}
	if n := counter.opened.Load(); n != 1 {
		t.Errorf("%d connections for one address and login", n)
	}
	if answer := inlineAll(t, server, "CLIENT LIST"); !strings.Contains(answer, "name=the-auditor") || strings.Contains(answer, "lib-name=valkey") {
		t.Errorf("CLIENT LIST: %s", answer)
	}
}

func TestManyCallsWaitForFewConnections(t *testing.T) {
	server := valkeytest.StartServer(t, valkeytest.Options{Binary: valkeytest.Default(t)})
	client, counter := newClient(t, valkeyclient.Options{CallTimeout: valkeytest.Patience})
	node := nodeOf(t, client, server.Target())
	var all sync.WaitGroup
	for range 64 {
		all.Go(func() {
			if _, err := node.Status(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if n := counter.opened.Load(); n > 8 {
		t.Errorf("%d connections", n)
	}
}

func TestARestartedServerIsNotNoticedByReads(t *testing.T) {
	server := valkeytest.StartServer(t, valkeytest.Options{Binary: valkeytest.Default(t)})
	client, _ := newClient(t, valkeyclient.Options{})
	node := nodeOf(t, client, server.Target())
	if err := node.Ping(t.Context()); err != nil {
		t.Fatal(err)
	}
	server.Kill()
	server.Start()
	if _, err := node.Status(t.Context()); err != nil {
		t.Errorf("a read: %v", err)
	}
	server.Kill()
	server.Start()
	time.Sleep(1100 * time.Millisecond) // an idle connection is doubted after a second
	if err := node.ConfigSet(t.Context(), valkeyclient.Setting{Key: "hz", Value: "11"}); err != nil {
		t.Errorf("a change: %v", err)
	}
}

func TestFailuresAreBoundedAndClassified(t *testing.T) {
	server := valkeytest.StartServer(t, valkeytest.Options{Binary: valkeytest.Default(t), Config: []string{"requirepass geheim"}, Credentials: valkeyclient.Credentials{Password: "geheim"}})
	client, counter := newClient(t, valkeyclient.Options{CallTimeout: 500 * time.Millisecond, DialTimeout: 250 * time.Millisecond})

	as := func(credentials valkeyclient.Credentials) valkeyclient.Node {
		return nodeOf(t, client, server.TargetAs(credentials))
	}
	if err := as(valkeyclient.Credentials{}).Ping(t.Context()); !errors.Is(err, valkeyclient.ErrAuth) {
		t.Errorf("no login: %v", err)
	}
	err := as(valkeyclient.Credentials{Password: "vertippt"}).Ping(t.Context())
	if !errors.Is(err, valkeyclient.ErrAuth) || strings.Contains(err.Error(), "vertippt") {
		t.Errorf("wrong password: %v", err)
	}
	if n := counter.open.Load(); n != 0 {
		t.Errorf("%d connections without a login are kept", n)
	}
	node := as(valkeyclient.Credentials{Password: "geheim"})
	if err := node.Ping(t.Context()); err != nil {
		t.Fatal(err)
	}

	target := server.Target()
	target.TLS = &tls.Config{InsecureSkipVerify: true} //nolint:gosec // there is no TLS on the other side
	if err := nodeOf(t, client, target).Ping(t.Context()); !errors.Is(err, valkeyclient.ErrTLS) && !errors.Is(err, valkeyclient.ErrUnreachable) {
		t.Errorf("TLS to plaintext: %v", err)
	}

	server.Stop()
	began := time.Now()
	if err := node.Ping(t.Context()); !errors.Is(err, valkeyclient.ErrTimeout) {
		t.Errorf("frozen, connected: %v", err)
	}
	if err := node.Ping(t.Context()); !errors.Is(err, valkeyclient.ErrTimeout) {
		t.Errorf("frozen, new connection: %v", err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if err := node.Ping(ctx); !errors.Is(err, valkeyclient.ErrTimeout) || !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("frozen, caller's deadline: %v", err)
	}
	if took := time.Since(began); took > 3*time.Second {
		t.Errorf("three bounded calls took %s", took)
	}
	server.Cont()
	valkeytest.Eventually(t, "it answers again", node.Ping)

	server.Kill()
	if err := node.Ping(t.Context()); !errors.Is(err, valkeyclient.ErrUnreachable) {
		t.Errorf("nobody there: %v", err)
	}
	nowhere := nodeOf(t, client, valkeyclient.Target{Address: "no-such-host.invalid:1"})
	if err := nowhere.Ping(t.Context()); !errors.Is(err, valkeyclient.ErrUnreachable) {
		t.Errorf("no such host: %v", err)
	}
}

func TestDialingIsBounded(t *testing.T) {
	hang := func(ctx context.Context, _, _ string) (net.Conn, error) {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	client, _ := newClient(t, valkeyclient.Options{Dialer: hang, DialTimeout: 100 * time.Millisecond})
	began := time.Now()
	node := nodeOf(t, client, valkeyclient.Target{Address: "h:1"})
	if took := time.Since(began); took > 50*time.Millisecond {
		t.Errorf("making a handle took %s", took)
	}
	if err := node.Ping(t.Context()); !errors.Is(err, valkeyclient.ErrUnreachable) {
		t.Errorf("%v", err)
	}
	if took := time.Since(began); took > 2*time.Second {
		t.Errorf("took %s", took)
	}
}

func TestIdleConnectionsAreClosed(t *testing.T) {
	server := valkeytest.StartServer(t, valkeytest.Options{Binary: valkeytest.Default(t)})
	client, counter := newClient(t, valkeyclient.Options{IdleTimeout: 100 * time.Millisecond})
	if err := nodeOf(t, client, server.Target()).Ping(t.Context()); err != nil {
		t.Fatal(err)
	}
	valkeytest.Eventually(t, "the idle connection is closed", func(context.Context) error {
		if n := counter.open.Load(); n != 0 {
			return errors.New("still open")
		}
		return nil
	})
	if err := nodeOf(t, client, server.Target()).Ping(t.Context()); err != nil {
		t.Errorf("after the eviction: %v", err)
	}
}

func TestClosedClientRefuses(t *testing.T) {
	server := valkeytest.StartServer(t, valkeytest.Options{Binary: valkeytest.Default(t)})
	client, counter := newClient(t, valkeyclient.Options{})
	node := nodeOf(t, client, server.Target())
	if err := node.Ping(t.Context()); err != nil {
		t.Fatal(err)
	}
	client.Close()
	if n := counter.open.Load(); n != 0 {
		t.Errorf("%d connections are still open", n)
	}
	if err := node.Ping(t.Context()); !errors.Is(err, valkeyclient.ErrClosed) {
		t.Errorf("a handle from before: %v", err)
	}
	if _, err := client.Node(server.Target()); !errors.Is(err, valkeyclient.ErrClosed) {
		t.Errorf("a new handle: %v", err)
	}
	if _, err := client.Sentinel(valkeyclient.Target{Address: "nonsense"}); !errors.Is(err, valkeyclient.ErrInvalid) {
		t.Errorf("a malformed address: %v", err)
	}
}

// An answer of the server that echoes what it was sent does not carry the secret on.
func TestServersThatEchoSecrets(t *testing.T) {
	server := valkeytest.StartServer(t, valkeytest.Options{Binary: valkeytest.Default(t)})
	process := valkeytest.StartSentinel(t, valkeytest.Options{Binary: valkeytest.Default(t)})
	sentinel := process.Sentinel()
	if err := sentinel.Register(t.Context(), valkeyclient.Registration{Name: "a", Primary: server.Address, Quorum: 1}); err != nil {
		t.Fatal(err)
	}
	for _, err := range []error{
		sentinel.Set(t.Context(), "a", valkeyclient.Setting{Key: "auth-pazz", Value: "geheim"}, valkeyclient.Setting{Key: "auth-pass", Value: "vertraulich"}),
		sentinel.Set(t.Context(), "b", valkeyclient.Setting{Key: "auth-pass", Value: "vertraulich"}),
		sentinel.Set(t.Context(), "a", valkeyclient.Setting{Key: "auth-pass", Value: "vertrau lich"}),
		server.Node().ConfigSet(t.Context(), valkeyclient.Setting{Key: "tls-key-file-pass", Value: "vertraulich"}, valkeyclient.Setting{Key: "no-such", Value: "x"}),
	} {
		if err == nil || strings.Contains(err.Error(), "vertrau") {
			t.Errorf("%v", err)
		}
	}
}
