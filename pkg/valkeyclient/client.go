// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package valkeyclient

import (
	"fmt"
	"sync"
	"time"

	"github.com/valkey-io/valkey-go"
)

// Client hands out Nodes and Sentinels that share its pooled connections. It is safe for concurrent use.
type Client struct {
	options Options

	mu     sync.Mutex
	peers  map[peerKey]*peer
	sweep  *time.Timer
	closed bool
}

// peerKey is a Target without what only people need: equal keys share connections. A changed password is
// another key, so that nothing is ever answered on a login that is no longer wanted.
type peerKey Target

// peer is the connections to one key. Its fields are guarded by Client.mu, except the library's client.
type peer struct {
	valkey   valkey.Client
	inFlight int
	lastUsed time.Time
}

// New makes a Client. It dials nothing: connections are opened by the first call that needs them.
func New(options Options) *Client {
	return &Client{options: options.withDefaults(), peers: map[peerKey]*peer{}}
}

// Node is a handle on the data server at the target. It fails only with ErrInvalid (malformed address) or
// ErrClosed: whether anybody answers shows with the first call. Handles are cheap and need no closing.
func (c *Client) Node(target Target) (Node, error) {
	if err := c.check(target); err != nil {
		return nil, err
	}
	return &node{link{client: c, target: target}}, nil
}

// Sentinel is a handle on the Sentinel process at the target; see Node.
func (c *Client) Sentinel(target Target) (Sentinel, error) {
	if err := c.check(target); err != nil {
		return nil, err
	}
	return &sentinel{link{client: c, target: target}}, nil
}

// Close closes all connections. Calls in flight and later ones fail with ErrClosed.
func (c *Client) Close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.closed = true
	if c.sweep != nil {
		c.sweep.Stop()
	}
	for key, p := range c.peers {
		delete(c.peers, key)
		p.valkey.Close()
	}
}

func (c *Client) check(target Target) error {
	if _, err := ParseAddress(target.Address); err != nil {
		return fmt.Errorf("%w: %w", ErrInvalid, err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return ErrClosed
	}
	return nil
}

func keyOf(target Target) peerKey {
	target.Name = ""
	if target.TLSRevision != "" {
		target.TLS = nil
	}
	return peerKey(target)
}

// acquire returns the target's peer, marked as in use, and whether it has been idle long enough to be
// doubted. Every acquire is followed by one release.
func (c *Client) acquire(target Target) (p *peer, idle bool, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return nil, false, ErrClosed
	}
	key, now := keyOf(target), time.Now()
	p, known := c.peers[key]
	if !known {
		connections, err := c.options.open(target)
		if err != nil {
			return nil, false, err
		}
		p = &peer{valkey: connections}
		c.peers[key] = p
		c.scheduleSweep()
	}
	idle = known && now.Sub(p.lastUsed) > idleDoubt
	p.inFlight++
	p.lastUsed = now
	return p, idle, nil
}

func (c *Client) release(p *peer) {
	c.mu.Lock()
	defer c.mu.Unlock()
	p.inFlight--
	p.lastUsed = time.Now()
}

// drop forgets the peer, if it is still the current one, so that the next call connects and logs in anew.
// Other calls in flight on it end as they would have.
func (c *Client) drop(target Target, p *peer) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if key := keyOf(target); c.peers[key] == p {
		delete(c.peers, key)
		p.valkey.Close()
	}
}

// scheduleSweep arms the eviction of idle peers; it stays armed only while there are any.
func (c *Client) scheduleSweep() {
	if c.sweep == nil {
		c.sweep = time.AfterFunc(c.options.IdleTimeout/2, c.evictIdle)
	}
}

func (c *Client) evictIdle() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.sweep = nil
	if c.closed {
		return
	}
	for key, p := range c.peers {
		if p.inFlight == 0 && time.Since(p.lastUsed) >= c.options.IdleTimeout {
			delete(c.peers, key)
			p.valkey.Close()
		}
	}
	if len(c.peers) > 0 {
		c.scheduleSweep()
	}
}
