// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package operation

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/valkeykube/valkeykube/pkg/topology"
	"github.com/valkeykube/valkeykube/pkg/valkeyclient"
)

// sentinelCoordinated hands over under Sentinels without losing an acknowledged write:
//
//	prepare   tell Sentinel whom to choose, have the old primary ping less, and wait for the moment at which Sentinel will see the promotion soonest
//	pause     hold back writes on the old primary; the pause ends by itself
//	catch up  until the target has all of them
//	ask       SENTINEL FAILOVER: the Sentinels stay the only authority that promotes
//	await     the target is primary by its own word, and by the Sentinel's
//	demote    the old primary follows the new one before its clients are let go: without it, it would go on accepting writes
//	          from clients that have not asked again, until Sentinel comes to it 8 to 11 s later
//	resume    held clients are cut off, so that they ask where the primary is; then the pause is lifted
//	agree     the other Sentinels have heard of it
//
// Measured with 1,600 writes/s: nothing lost, and 0.2 to 0.3 s between two writes if the moment was met, 1.1 s if not.
func (s *change) sentinelCoordinated(ctx context.Context) error {
	prepare, cancel := s.preparation(ctx)
	defer cancel()
	if err := s.chooseTarget(prepare); err != nil {
		return err
	}
	s.attempt(prepare, "space out the old primary's pings", s.limits.Step, s.spaceOutPings)
	s.attempt(prepare, "await the right moment", s.limits.Prepare, s.awaitMoment)

	if err := s.pauseAndCatchUp(ctx, s.settle); err != nil {
		return err
	}
	held, cancel := context.WithDeadline(ctx, s.holdUntil())
	defer cancel()
	if err := s.step(held, "ask for failover", s.limits.Step, s.askSentinel); err != nil {
		return err
	}
	if err := s.step(held, "new primary", s.limits.Pause, s.awaitPromotion); err != nil {
		return err
	}
	s.succeeded(true)
	s.forgetUndo()
	err := s.step(ctx, "demote old primary", s.limits.Step, s.demote)
	s.attempt(ctx, "resume", s.limits.Step, s.resume)
	if err != nil { // the Sentinels will do it, later
		s.result.Coordinated = false
	}
	s.attempt(ctx, "Sentinels agree", agreement, s.awaitAgreement)
	return nil
}

// agreement bounds the wait for the Sentinels that did not lead: they hear of it within a second, if all is well.
const agreement = 4 * time.Second

// awaitAgreement waits until no Sentinel names the old primary. Before that, the loss of the one that led would make the others fail over once
// more, to a node that need not have all that the new primary was told.
func (s *change) awaitAgreement(ctx context.Context) error {
	return await(ctx, leisurely, func(ctx context.Context) (bool, error) {
		for _, sentinel := range s.sentinels {
			named, err := sentinel.client.PrimaryAddr(ctx, s.monitor)
			if err != nil {
				return false, fmt.Errorf("%s: %w", sentinel.name, err)
			}
			if s.from.Is(topology.Address(named)) {
				return false, fmt.Errorf("%s still names %s", sentinel.name, named)
			}
		}
		return true, nil
	})
}

// askSentinel asks only a Sentinel that names the old primary: it would replace another, which holds back nothing.
func (s *change) askSentinel(ctx context.Context) error {
	answer, err := s.lead().PrimaryAddr(ctx, s.monitor)
	if err != nil {
		return err
	}
	if named := topology.Address(answer); !s.from.Is(named) {
		return fmt.Errorf("the Sentinel names %s, not %s", named, s.from.Name)
	}
	return s.lead().Failover(ctx, s.monitor)
}

var errOther = errors.New("the Sentinel chose another")

// awaitPromotion waits until the leading Sentinel names the target and the target says that it is primary. It ends at once with
// an error if the Sentinel names a third.
func (s *change) awaitPromotion(ctx context.Context) error {
	var third error
	err := await(ctx, urgent, func(ctx context.Context) (bool, error) {
		answer, err := s.lead().PrimaryAddr(ctx, s.monitor)
		named := topology.Address(answer)
		switch {
		case err != nil:
			return false, err
		case s.from.Is(named):
			return false, fmt.Errorf("the Sentinel still names %s", named)
		case !s.to.Is(named):
			third = fmt.Errorf("%w: %s, not %s", errOther, named, s.to.Name)
			return true, nil
		}
		role, err := s.toNode.Role(ctx)
		return role.Role == valkeyclient.RolePrimary, err
	})
	if err != nil {
		err = s.blame(ctx, err)
	}
	return errors.Join(err, third)
}

// blameWithin is how long the target is asked whether it is there, once something has not come to pass in time: writes are still held back.
const blameWithin = 200 * time.Millisecond

// blame names the target where it is gone: what the Sentinel said last then is no reason.
func (s *change) blame(ctx context.Context, err error) error {
	quick, cancel := context.WithTimeout(context.WithoutCancel(ctx), blameWithin)
	defer cancel()
	if _, gone := s.toNode.Role(quick); gone != nil {
		return fmt.Errorf("the target %s is not there: %w; %w", s.to.Name, gone, err)
	}
	return err
}

// demote makes the old primary follow the new one, under the address by which the Sentinels know it, and cuts off its
// clients.
func (s *change) demote(ctx context.Context) error {
	address := s.to.Address
	if named, err := s.lead().PrimaryAddr(ctx, s.monitor); err == nil && !s.from.Is(topology.Address(named)) {
		address = topology.Address(named)
	}
	return s.follow(ctx, address)
}

// settle ends a hand-over that failed while writes are held back, so that nothing that is acknowledged from now on can be
// lost. Sentinels that are about to promote are waited for: what was acknowledged meanwhile would be lost with the promotion. If a Sentinel names
// another primary, the change has happened and is completed. Otherwise it is taken back: a target that
// was promoted without any Sentinel noticing has the same data as the old primary, and follows it again. Only then are
// writes let go. What cannot be settled in time is left to the pause, which ends by itself, and to the Sentinels.
func (s *change) settle(ctx context.Context) error {
	named, changed, err := s.whatBecomes(ctx)
	if err != nil {
		return err
	}
	if changed {
		s.switchedTo(named)
		s.result.Coordinated = s.nothingMissing(ctx)
		if err := s.follow(ctx, named); err != nil {
			s.result.Coordinated = false
			return err
		}
		return s.resume(ctx)
	}
	quick, cancel := context.WithTimeout(ctx, undoLimit/4)
	defer cancel()
	if role, err := s.toNode.Role(quick); err == nil && role.Role == valkeyclient.RolePrimary {
		if err := s.toNode.ReplicaOf(ctx, valkeyclient.Address(s.from.Address)); err != nil {
			return err
		}
	}
	return s.resume(ctx)
}

// whatBecomes is whom a Sentinel names, if any names another than the old primary, once the leading Sentinel is through with what it was asked. One
// that does not answer is not waited for.
func (s *change) whatBecomes(ctx context.Context) (named topology.Address, changed bool, err error) {
	err = await(ctx, leisurely, func(ctx context.Context) (bool, error) {
		monitor, err := s.lead().MonitorByName(ctx, s.monitor)
		isUnderWay := err == nil && monitor.Flags.Has("failover_in_progress")
		// Asked after it: a change that ends between the two answers is seen.
		if named, changed = s.namedInstead(ctx); changed || !isUnderWay {
			return true, nil
		}
		return false, fmt.Errorf("the Sentinel is about to promote (%s)", monitor.FailoverState)
	})
	return named, changed, err
}

// nothingMissing tells whether the new primary left the common history not before the old one, which holds back writes.
func (s *change) nothingMissing(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(ctx, undoLimit/4)
	defer cancel()
	node := s.toNode
	if other, isOther := s.others[s.to.Name]; isOther {
		node = other
	}
	promoted, err := node.Replication(ctx)
	if err != nil || promoted.Role != valkeyclient.RolePrimary {
		return false
	}
	old, err := s.fromNode.Replication(ctx)
	return err == nil && promoted.ReplID2 == old.ReplID && promoted.SecondOffset > old.Offset
}

// namedInstead is whom a Sentinel names, if any names another than the old primary. All are asked at the same time.
func (s *change) namedInstead(ctx context.Context) (topology.Address, bool) {
	ctx, cancel := context.WithTimeout(ctx, undoLimit/4)
	defer cancel()
	answers := make(chan topology.Address, len(s.sentinels))
	for _, sentinel := range s.sentinels {
		go func() {
			named, err := sentinel.client.PrimaryAddr(ctx, s.monitor)
			if err != nil {
				named = valkeyclient.Address(s.from.Address)
			}
			answers <- topology.Address(named)
		}()
	}
	for range s.sentinels {
		if named := <-answers; !s.from.Is(named) {
			return named, true
		}
	}
	return topology.Address{}, false
}

// switchedTo notes that the Sentinels' primary is the one at the address.
func (s *change) switchedTo(named topology.Address) {
	if m, known := s.snapshot.MemberAt(named); known {
		s.to, s.result.To = m, m.Name
	}
	s.succeeded(false)
}

// preparation is a context for the preparations: within their limit, and leaving what is left of ctx's time for the change.
func (s *change) preparation(ctx context.Context) (context.Context, context.CancelFunc) {
	const change = 3 * time.Second
	return context.WithTimeout(ctx, min(s.limits.Prepare, max(untilEnd(ctx)-change, time.Second)))
}

// untilEnd is the time that ctx leaves, less what answering takes; a minute without a deadline.
func untilEnd(ctx context.Context) time.Duration {
	deadline, limited := ctx.Deadline()
	if !limited {
		return time.Minute
	}
	return max(time.Until(deadline)-200*time.Millisecond, 0)
}
