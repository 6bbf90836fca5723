// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package valkeyclient

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"time"

	"github.com/valkey-io/valkey-go"
)

const (
	// idleDoubt is after how much silence a connection is tried with a PING before something that cannot
	// be repeated is sent on it: the server may have gone and come back meanwhile.
	idleDoubt = time.Second
	// bufferSize of a connection in each direction. The library's 512 KiB would be a gigabyte for a
	// controller of 500 instances; answers here are a few KiB and may be longer than the buffer.
	bufferSize = 4 << 10
	// maxConnections to one process with one login; further calls wait.
	maxConnections = 8
	// subscriptionPing is how often a silent subscription is probed, and subscriptionPatience how long the
	// answer may take. The first probe may be one period late: lost at the latest after twice the one plus
	// the other.
	subscriptionPing     = 2 * time.Second
	subscriptionPatience = 4 * time.Second
)

// errNotYet keeps the library from dialing when a client is made: see open.
var errNotYet = errors.New("not dialed yet")

// Options configures a Client. The zero value is usable.
type Options struct {
	// Dialer opens raw connections. Default: the net package's, with TCP keep-alive.
	Dialer Dialer
	// ClientName is shown by CLIENT LIST, for audit.
	ClientName string
	// CallTimeout caps every call. Default 2 s.
	CallTimeout time.Duration
	// DialTimeout caps connecting, TLS included, and then again the login. Default 1 s.
	DialTimeout time.Duration
	// IdleTimeout closes connections that were not used for so long. Default 5 min.
	IdleTimeout time.Duration
	// SnapshotPatience is how long a server that sends a snapshot may send nothing at all. While it prepares, it sends a sign of
	// life every repl-ping-replica-period (10 s). Default 30 s.
	SnapshotPatience time.Duration
}

func (o Options) withDefaults() Options {
	if o.Dialer == nil {
		o.Dialer = (&net.Dialer{KeepAlive: 15 * time.Second}).DialContext
	}
	if o.CallTimeout <= 0 {
		o.CallTimeout = 2 * time.Second
	}
	if o.DialTimeout <= 0 {
		o.DialTimeout = time.Second
	}
	if o.IdleTimeout <= 0 {
		o.IdleTimeout = 5 * time.Minute
	}
	if o.SnapshotPatience <= 0 {
		o.SnapshotPatience = 30 * time.Second
	}
	return o
}

// open makes the library's client for a target without connecting: the library dials once when it is made,
// without the caller's context; that attempt is refused, and each call then dials under its own context.
func (o Options) open(target Target) (valkey.Client, error) {
	option := o.clientOption(target)
	// Every call has a connection of its own while it runs: one that hangs delays no other and is closed.
	option.DisableAutoPipelining = true
	return newLazy(option)
}

// openSubscription is for one subscriber. It is probed, since nothing is ever sent on it otherwise and a
// peer that vanished silently would never be noticed.
func (o Options) openSubscription(target Target) (valkey.Client, error) {
	option := o.clientOption(target)
	option.PipelineMultiplex = -1
	option.RingScaleEachConn = 4
	option.Dialer.KeepAlive = subscriptionPing
	option.ConnWriteTimeout = subscriptionPatience
	return newLazy(option)
}

func (o Options) clientOption(target Target) valkey.ClientOption {
	return valkey.ClientOption{
		InitAddress: []string{target.Address},
		Username:    target.Credentials.Username,
		Password:    target.Credentials.Password,
		ClientName:  o.ClientName,
		// Not sent: a user would need the right to, and each refusal is an entry in the server's ACL log.
		ClientSetInfo: []string{},
		DialCtxFn: func(ctx context.Context, address string, _ *net.Dialer, _ *tls.Config) (net.Conn, error) {
			target.Address = address
			return o.connect(ctx, target)
		},
		// Negative: no PINGs in the background. Keep-alive of the raw connection is the Dialer's.
		Dialer:              net.Dialer{Timeout: o.DialTimeout, KeepAlive: -1},
		ConnWriteTimeout:    max(10*time.Second, o.CallTimeout),
		ReadBufferEachConn:  bufferSize,
		WriteBufferEachConn: bufferSize,
		BlockingPoolSize:    maxConnections,
		ForceSingleClient:   true, // never ask for cluster slots
		DisableCache:        true,
		DisableRetry:        true,
	}
}

func newLazy(option valkey.ClientOption) (valkey.Client, error) {
	made := false
	dial := option.DialCtxFn
	option.DialCtxFn = func(ctx context.Context, address string, d *net.Dialer, t *tls.Config) (net.Conn, error) {
		if !made {
			return nil, errNotYet
		}
		return dial(ctx, address, d, t)
	}
	client, err := valkey.NewClient(option)
	if client == nil {
		return nil, err
	}
	made = true
	return client, nil
}

// dialError marks what failed before anything was asked.
type dialError struct {
	error
	tls bool
}

func (e *dialError) Unwrap() error { return e.error }

func (o Options) dial(ctx context.Context, config *tls.Config, address string) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, o.DialTimeout)
	defer cancel()
	raw, err := o.Dialer(ctx, "tcp", address)
	if err != nil {
		return nil, &dialError{error: err}
	}
	if config == nil {
		return raw, nil
	}
	if config.ServerName == "" {
		host, _, _ := net.SplitHostPort(address)
		config = config.Clone()
		config.ServerName = host
	}
	secured := tls.Client(raw, config)
	if err := secured.HandshakeContext(ctx); err != nil {
		_ = raw.Close()
		return nil, &dialError{error: err, tls: true}
	}
	return secured, nil
}
