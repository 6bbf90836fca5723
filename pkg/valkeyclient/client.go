// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package valkeyclient

// Client hands out Nodes and Sentinels that share its pooled connections. It is safe for concurrent use.
type Client struct {
	options Options
}

// New makes a Client. It dials nothing: connections are opened by the first call that needs them.
func New(options Options) *Client { return &Client{options: options} }

// Node is a handle on the data server at the target. It fails only with ErrInvalid (malformed address) or
// ErrClosed: whether anybody answers shows with the first call. Handles are cheap and need no closing.
func (c *Client) Node(target Target) (Node, error) { return nil, ErrClosed }

// Sentinel is a handle on the Sentinel process at the target; see Node.
func (c *Client) Sentinel(target Target) (Sentinel, error) { return nil, ErrClosed }

// Close closes all connections. Calls in flight and later ones fail with ErrClosed.
func (c *Client) Close() {}
