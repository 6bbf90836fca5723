// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package operation

import (
	"context"
	"fmt"
	"sync"

	"github.com/valkeykube/valkeykube/pkg/valkeyclient"
)

// directCoordinated hands over by the data node's own FAILOVER: the server holds back writes, waits until the target has
// them all, lets it take over, and follows it. Nobody else has a say in these sets, so it is safe; under Sentinels it is not (they
// would hold their primary for down and fail over by themselves).
func (s *change) directCoordinated(ctx context.Context) error {
	address, err := s.addressAtPrimary()
	if err != nil {
		return err
	}
	err = s.step(ctx, "ask for failover", s.limits.Step, func(ctx context.Context) error {
		s.onFailure("abort failover", s.fromNode.FailoverAbort)
		return s.fromNode.Failover(ctx, valkeyclient.FailoverRequest{To: address, Timeout: s.limits.Pause})
	})
	if err != nil {
		return err
	}
	// The server gives up by itself after its timeout as long as the target has not caught up; then FAILOVER ABORT ends it.
	err = s.step(ctx, "new primary", s.limits.Pause+s.limits.Step, func(ctx context.Context) error {
		return await(ctx, urgent, s.handedOver)
	})
	if err != nil {
		return err
	}
	s.succeeded(true)
	s.attempt(ctx, "cut off the old primary's clients", s.limits.Step, func(ctx context.Context) error {
		_, err := s.fromNode.ClientKill(ctx, valkeyclient.ClientNormal, valkeyclient.ClientPubSub)
		return err
	})
	s.repointOthers(ctx)
	return nil
}

// addressAtPrimary is the target's address as the primary knows it: FAILOVER accepts no other.
func (s *change) addressAtPrimary() (valkeyclient.Address, error) {
	for _, connected := range s.from.Connected {
		if s.to.Is(connected.Address) {
			return valkeyclient.Address(connected.Address), nil
		}
	}
	return valkeyclient.Address{}, fmt.Errorf("%s does not see %s: %w", s.from.Name, s.to.Name, valkeyclient.ErrNoGoodReplica)
}

// handedOver tells whether both sides have changed their roles, and fails at once if the old primary gave up.
func (s *change) handedOver(ctx context.Context) (bool, error) {
	to, err := s.toNode.Role(ctx)
	if err != nil {
		return false, err
	}
	from, err := s.fromNode.Replication(ctx)
	if err != nil {
		return false, err
	}
	return to.Role == valkeyclient.RolePrimary && from.Role == valkeyclient.RoleReplica, nil
}

// directForced promotes the target and makes all others that answer follow it, the old primary first.
func (s *change) directForced(ctx context.Context) error {
	err := s.step(ctx, "promote", s.limits.Step, func(ctx context.Context) error {
		if err := s.toNode.ReplicaOfNoOne(ctx); err != nil {
			return err
		}
		return await(ctx, urgent, func(ctx context.Context) (bool, error) {
			role, err := s.toNode.Role(ctx)
			return role.Role == valkeyclient.RolePrimary, err
		})
	})
	if err != nil {
		return err
	}
	s.succeeded(false)
	if s.fromNode != nil && s.from.Answered() {
		s.attempt(ctx, "demote old primary", s.limits.Step, func(ctx context.Context) error {
			if err := s.fromNode.ReplicaOf(ctx, valkeyclient.Address(s.to.Address)); err != nil {
				return err
			}
			_, err := s.fromNode.ClientKill(ctx, valkeyclient.ClientNormal, valkeyclient.ClientPubSub)
			return err
		})
	}
	s.repointOthers(ctx)
	return nil
}

// repointOthers makes all other members that answered follow the new primary, at the same time. Whom it does not reach is
// found as an orphan later.
func (s *change) repointOthers(ctx context.Context) {
	var all sync.WaitGroup
	var mu sync.Mutex
	failed := map[string]error{}
	for name, node := range s.others {
		if m, _ := s.snapshot.Member(name); !m.Answered() {
			continue
		}
		all.Go(func() {
			ctx, cancel := context.WithTimeout(ctx, s.limits.Step)
			defer cancel()
			if err := node.ReplicaOf(ctx, valkeyclient.Address(s.to.Address)); err != nil {
				mu.Lock()
				defer mu.Unlock()
				failed[name] = err
			}
		})
	}
	s.attempt(ctx, "others follow", 2*s.limits.Step, func(context.Context) error {
		all.Wait()
		for _, m := range s.snapshot.Members {
			if err := failed[m.Name]; err != nil {
				return err
			}
		}
		return nil
	})
}
