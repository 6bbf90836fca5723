// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"context"
	"fmt"
	"testing"

	"github.com/valkey-io/valkey-go"

	"github.com/valkeykube/valkeykube/pkg/valkeyclient"
	"github.com/valkeykube/valkeykube/pkg/valkeyclient/valkeytest"
)

// fill writes so many keys, and waits until all the replicas have them.
func (s *set) fill(primary *pod, prefix string, keys int, replicas ...*pod) {
	s.t.Helper()
	client, err := valkey.NewClient(valkey.ClientOption{
		InitAddress: []string{primary.address.String()}, ForceSingleClient: true, DisableCache: true,
	})
	s.must(err)
	defer client.Close()
	for i := range keys {
		key := fmt.Sprintf("%s:%d", prefix, i)
		s.must(client.Do(s.t.Context(), client.B().Set().Key(key).Value("value").Build()).Error())
	}
	for _, p := range replicas {
		s.awaitCaughtUp(primary, p)
	}
}

func (s *set) awaitCaughtUp(primary, replica *pod) {
	s.t.Helper()
	s.eventually(replica.name+" has caught up", func(ctx context.Context) error {
		want, err := primary.node().Replication(ctx)
		if err != nil {
			return err
		}
		got, err := replica.node().Replication(ctx)
		if err == nil && (!got.LinkUp || got.Offset < want.Offset || got.ReplID != want.ReplID) {
			err = fmt.Errorf("at %d of %d", got.Offset, want.Offset)
		}
		return err
	})
}

func (s *set) expectKeys(p *pod, want int64) {
	s.t.Helper()
	s.eventually(fmt.Sprintf("%s holds %d keys", p.name, want), func(ctx context.Context) error {
		got, err := p.node().DBSize(ctx)
		if err == nil && got != want {
			err = fmt.Errorf("%d keys", got)
		}
		return err
	})
}

// sentinelPrimary is whom all Sentinels name.
func (s *set) sentinelPrimary(ctx context.Context) (*pod, error) {
	var named *pod
	for _, sentinel := range s.sentinels {
		address, err := sentinel.sentinel().PrimaryAddr(ctx, monitorName)
		if err != nil {
			return nil, err
		}
		for _, p := range s.nodes {
			if p.announced == address {
				if named != nil && named != p {
					return nil, fmt.Errorf("the Sentinels name %s and %s", named.name, p.name)
				}
				named = p
			}
		}
	}
	if named == nil {
		return nil, fmt.Errorf("the Sentinels name no member")
	}
	return named, nil
}

// servingPrimary is the only node that says that it is the primary.
func (s *set) servingPrimary(ctx context.Context) (*pod, error) {
	var serving *pod
	for _, p := range s.nodes {
		role, err := p.role(ctx)
		if err != nil || role.Role != valkeyclient.RolePrimary {
			continue
		}
		if serving != nil {
			return nil, fmt.Errorf("%s and %s are primaries", serving.name, p.name)
		}
		serving = p
	}
	if serving == nil {
		return nil, fmt.Errorf("nobody is primary")
	}
	return serving, nil
}

// awaitPrimaryOtherThan waits until somebody (else) is the primary, for the nodes and, where there are any, for the Sentinels.
func (s *set) awaitPrimaryOtherThan(old *pod) *pod {
	s.t.Helper()
	var primary *pod
	s.eventually("a primary", func(ctx context.Context) error {
		var err error
		if primary, err = s.servingPrimary(ctx); err != nil {
			return err
		}
		if primary == old {
			return fmt.Errorf("still %s", old.name)
		}
		if len(s.sentinels) == 0 {
			return nil
		}
		named, err := s.sentinelPrimary(ctx)
		if err == nil && named != primary {
			err = fmt.Errorf("the Sentinels name %s", named.name)
		}
		return err
	})
	return primary
}

func (s *set) others(than *pod) []*pod {
	var others []*pod
	for _, p := range s.nodes {
		if p != than {
			others = append(others, p)
		}
	}
	return others
}

// up brings up a whole set with so many keys on every node.
func up(t *testing.T, o options, keys int) *set {
	t.Helper()
	s := newSet(t, o)
	s.startAll(s.nodes)
	s.awaitWhole(s.nodes[0], s.nodes[1:]...)
	s.setHint(s.nodes[0])
	s.startAll(s.sentinels)
	if len(s.sentinels) > 0 {
		s.awaitSentinels(s.nodes[0])
	}
	if keys > 0 {
		s.fill(s.nodes[0], "key", keys, s.nodes[1:]...)
	}
	return s
}

// process is the node for package valkeytest.
func (p *pod) process() *valkeytest.Process {
	return &valkeytest.Process{Name: p.name, Address: p.address}
}

// locate finds the primary as clients do: by the Sentinels, or by the roles.
func (s *set) locate(ctx context.Context) (valkeyclient.Address, error) {
	find := s.servingPrimary
	if len(s.sentinels) > 0 {
		find = func(ctx context.Context) (*pod, error) {
			address, err := s.sentinels[0].sentinel().PrimaryAddr(ctx, monitorName)
			for _, p := range s.nodes {
				if p.announced == address {
					return p, err
				}
			}
			return nil, fmt.Errorf("no primary: %w", err)
		}
	}
	p, err := find(ctx)
	if err != nil {
		return valkeyclient.Address{}, err
	}
	return p.address, nil
}

// save makes the node write a snapshot.
func save(ctx context.Context, p *pod) error {
	client, err := valkey.NewClient(valkey.ClientOption{
		InitAddress: []string{p.address.String()}, Username: adminUser, Password: password, ForceSingleClient: true, DisableCache: true,
	})
	if err != nil {
		return err
	}
	defer client.Close()
	return client.Do(ctx, client.B().Save().Build()).Error()
}
