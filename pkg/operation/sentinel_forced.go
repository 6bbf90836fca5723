// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package operation

import (
	"context"
	"errors"
	"strconv"
	"time"

	"github.com/valkeykube/valkeykube/pkg/topology"
	"github.com/valkeykube/valkeykube/pkg/valkeyclient"
)

// sentinelForced asks for a failover and waits until the Sentinel names another primary.
func (s *change) sentinelForced(ctx context.Context) error {
	prepare, cancel := s.preparation(ctx)
	defer cancel()
	choose := s.chooseTarget
	if s.to.Role == topology.RolePrimary {
		choose = s.disfavourOthers
	}
	if err := choose(prepare); err != nil && s.wanted {
		return err // otherwise whom Sentinel chooses will do
	}
	if err := s.step(ctx, "ask for failover", s.limits.Step, s.askAnySentinel); err != nil {
		return err
	}
	// The old primary may be none of the members that were looked at: its pod may be gone.
	var named topology.Address
	before := s.snapshot.SentinelPrimary(s.monitor).Address
	err := s.step(ctx, "new primary", untilEnd(ctx), func(ctx context.Context) error {
		return await(ctx, leisurely, func(ctx context.Context) (bool, error) {
			answer, err := s.lead().PrimaryAddr(ctx, s.monitor)
			named = topology.Address(answer)
			return named != before && !s.from.Is(named), err
		})
	})
	if err != nil { // it was granted, and goes on
		s.result.Phase = InProgress
		s.result.Duration = time.Since(s.result.StartedAt)
		return nil
	}
	s.switchedTo(named)
	if s.fromNode != nil && s.from.Answered() {
		s.attempt(ctx, "demote old primary", s.limits.Step, s.demote)
	}
	s.attempt(ctx, "Sentinels agree", agreement, s.awaitAgreement)
	return nil
}

const downAfter = "down-after-milliseconds"

// askAnySentinel asks the leading Sentinel and, where it knows no good replica, the others: they may know more, or have known longer that the
// primary is down. The one that agrees leads from then on.
func (s *change) askAnySentinel(ctx context.Context) error {
	var refusal error
	for _, sentinel := range s.sentinels {
		err := sentinel.client.Failover(ctx, s.monitor)
		if !errors.Is(err, valkeyclient.ErrNoGoodReplica) {
			s.leader = sentinel.client
			return err
		}
		refusal = err
	}
	if !s.isTooOld() || s.askWidened(ctx) != nil {
		return refusal
	}
	return nil
}

// isTooOld tells whether the target is refused for good for the age of its link alone. A Sentinel takes a replica that lost its primary at most
// ten times down-after before it noticed itself (sentinelSelectReplica in sentinel.c). One that has started since then, or was frozen, never does:
// both ages grow together.
func (s *change) isTooOld() bool {
	return s.to.Answered() && s.to.Role == topology.RoleReplica && !s.to.LinkUp && s.to.LinkDownFor > 0
}

// askWidened asks once more with a down-after that lets the target's age pass, and puts the setting back in the end. What is not put back, because
// the owner died, the controller does: it compares the settings of every Sentinel.
func (s *change) askWidened(ctx context.Context) error {
	lead := s.lead()
	monitor, err := lead.MonitorByName(ctx, s.monitor)
	if err != nil {
		return err
	}
	before := monitor.Fields[downAfter]
	// A tenth would do; five seconds more are for the time until the Sentinel chooses.
	wide := s.to.LinkDownFor/10 + 5*time.Second
	s.atEnd("restore the Sentinel's "+downAfter, func(ctx context.Context) error {
		return lead.Set(ctx, s.monitor, valkeyclient.Setting{Key: downAfter, Value: before})
	})
	if err := lead.Set(ctx, s.monitor, valkeyclient.Setting{Key: downAfter, Value: strconv.FormatInt(wide.Milliseconds(), 10)}); err != nil {
		return err
	}
	return lead.Failover(ctx, s.monitor)
}
