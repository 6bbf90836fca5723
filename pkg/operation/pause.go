// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package operation

import (
	"context"
	"fmt"
	"time"

	"github.com/valkeykube/valkeykube/pkg/topology"
	"github.com/valkeykube/valkeykube/pkg/valkeyclient"
)

const (
	// How often is asked while writes are held back, and while they are not.
	urgent    = 5 * time.Millisecond
	leisurely = 25 * time.Millisecond
	// patienceForOthers is how long writes are held back for the other replicas' sake.
	patienceForOthers = 100 * time.Millisecond
)

// pauseAndCatchUp holds back writes on the old primary and waits until the target, and if it can be the others, have all of
// them. settle ends the pause if this or a later step fails.
func (s *change) pauseAndCatchUp(ctx context.Context, settle func(ctx context.Context) error) error {
	s.pausedAt = time.Now()
	err := s.step(ctx, "pause writes", s.limits.Step, func(ctx context.Context) error {
		s.onFailure("settle and resume", settle)
		return s.fromNode.ClientPause(ctx, valkeyclient.PauseWrite, s.limits.Pause)
	})
	if err != nil {
		return err
	}
	if err := s.step(ctx, "target catches up", s.limits.CatchUp, s.catchUp); err != nil {
		return err
	}
	if len(s.others) > 0 { // should the target die now, another is promoted in its place
		s.attempt(ctx, "others catch up", patienceForOthers, s.othersCatchUp)
	}
	return nil
}

// holdUntil is when everything must have been done or undone: before the pause ends by itself.
func (s *change) holdUntil() time.Time { return s.pausedAt.Add(s.limits.Pause - undoLimit) }

// catchUp waits until the target has processed all that the old primary has produced.
func (s *change) catchUp(ctx context.Context) error {
	err := await(ctx, urgent, func(ctx context.Context) (bool, error) { return s.hasCaughtUp(ctx, s.to.Name, s.toNode) })
	if err != nil { // what the time ran out at may be another's answer
		return s.blame(ctx, err)
	}
	return nil
}

func (s *change) othersCatchUp(ctx context.Context) error {
	synced := s.snapshot.SyncedReplicas(s.from.Name)
	return await(ctx, urgent, func(ctx context.Context) (bool, error) {
		for _, m := range synced {
			node, isOther := s.others[m.Name]
			if !isOther {
				continue
			}
			if done, err := s.hasCaughtUp(ctx, m.Name, node); !done || err != nil {
				return false, err
			}
		}
		return true, nil
	})
}

// hasCaughtUp compares a replica with the old primary. The order of the two reads makes it safe: the replica's is the later one.
func (s *change) hasCaughtUp(ctx context.Context, name string, node valkeyclient.Node) (bool, error) {
	from, err := s.fromNode.Replication(ctx)
	if err != nil {
		return false, err
	}
	replica, err := node.Replication(ctx)
	if err != nil {
		return false, fmt.Errorf("%s: %w", name, err)
	}
	if from.Role != valkeyclient.RolePrimary {
		return false, fmt.Errorf("%s is primary no more: somebody else hands over", s.from.Name)
	}
	if !replica.LinkUp || replica.ReplID != from.ReplID || replica.Offset != from.Offset {
		return false, fmt.Errorf("%s is at %d of %d, link up: %t", name, replica.Offset, from.Offset, replica.LinkUp)
	}
	return true, nil
}

// resume lifts the pause.
func (s *change) resume(ctx context.Context) error {
	err := s.fromNode.ClientUnpause(ctx)
	s.result.Paused = time.Since(s.pausedAt)
	return err
}

// follow makes the old primary follow the new one and cuts off its clients.
func (s *change) follow(ctx context.Context, primary topology.Address) error {
	if err := s.fromNode.ReplicaOf(ctx, valkeyclient.Address(primary)); err != nil {
		return err
	}
	return s.cutOff(ctx)
}

// cutOff makes the old primary's clients ask again where the primary is.
func (s *change) cutOff(ctx context.Context) error {
	_, err := s.fromNode.ClientKill(ctx, valkeyclient.ClientNormal, valkeyclient.ClientPubSub)
	return err
}
