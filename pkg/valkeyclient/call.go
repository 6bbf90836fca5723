// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package valkeyclient

import (
	"context"
	"errors"
	"strings"
	"time"
)

// request is one command.
type request struct {
	// words is the command with its arguments; name counts those that name it in errors.
	words []string
	name  int
	// readOnly requests may be repeated.
	readOnly bool
	// secrets must not appear in an error, whatever the server echoes.
	secrets []string
	// wait is how long the server may deliberately take, in addition to the call timeout.
	wait time.Duration
}

func query(words ...string) request   { return request{words: words, name: 1, readOnly: true} }
func command(words ...string) request { return request{words: words, name: 1} }

// named makes the first n words the name of the request in errors.
func (r request) named(n int) request {
	r.name = n
	return r
}

func (r request) String() string { return strings.Join(r.words[:min(r.name, len(r.words))], " ") }

// link is what Node and Sentinel have in common: a target and the way to ask it something.
type link struct {
	client *Client
	target Target
}

// do makes the request and returns the reply as plain Go values: string, int64, []any, map[string]any, nil.
func (l link) do(ctx context.Context, r request) (any, error) {
	peer, idle, err := l.client.acquire(l.target)
	if err != nil {
		return nil, l.failure(ctx, r, err)
	}
	if idle && !r.readOnly {
		l.client.release(peer)
		if _, err := l.do(ctx, query("PING")); errors.Is(err, ErrUnreachable) || errors.Is(err, ErrTimeout) {
			return nil, l.failure(ctx, r, err)
		}
		if peer, _, err = l.client.acquire(l.target); err != nil {
			return nil, l.failure(ctx, r, err)
		}
	}
	reply, err := l.attempt(ctx, peer, r)
	if err != nil && r.readOnly && staleConnection(err) && ctx.Err() == nil {
		l.client.drop(l.target, peer)
		l.client.release(peer)
		if peer, _, err = l.client.acquire(l.target); err != nil {
			return nil, l.failure(ctx, r, err)
		}
		reply, err = l.attempt(ctx, peer, r)
	}
	defer l.client.release(peer)
	if err == nil {
		return reply, nil
	}
	failed := l.failure(ctx, r, err)
	if errors.Is(failed, ErrAuth) || errors.Is(failed, ErrUnreachable) {
		l.client.drop(l.target, peer)
	}
	return nil, failed
}

func (l link) attempt(ctx context.Context, p *peer, r request) (any, error) {
	ctx, cancel := context.WithTimeout(ctx, l.client.options.CallTimeout+r.wait)
	defer cancel()
	built := p.valkey.B().Arbitrary(r.words...)
	if r.wait > 0 {
		return valueOf(p.valkey.Do(ctx, built.Blocking()))
	}
	return valueOf(p.valkey.Do(ctx, built.Build()))
}
