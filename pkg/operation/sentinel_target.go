// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package operation

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/valkeykube/valkeykube/pkg/topology"
	"github.com/valkeykube/valkeykube/pkg/valkeyclient"
)

const (
	// While a failover runs, Sentinel asks the promoted replica for its INFO at the earliest a second after the last time, and
	// notices the promotion by that. It acts in ticks of 50 to 100 ms and promotes in the third after it was asked. Asked
	// momentEarly after its last INFO, the second is over just when the promotion is through; asked later than momentLate, the
	// INFO may go out a tick too soon, and the promotion is noticed a second later (2 of 36 times between 800 and 870 ms).
	momentEarly = 785 * time.Millisecond
	momentLate  = 805 * time.Millisecond
	// usualInfoPeriod is Sentinel's own; hurriedInfoPeriod is what it uses during a failover.
	usualInfoPeriod   = 10 * time.Second
	hurriedInfoPeriod = time.Second
)

// chooseTarget makes the leading Sentinel choose the target: it prefers the lowest replica-priority, which it reads from INFO. The
// priority is put back at the end.
func (s *change) chooseTarget(ctx context.Context) error {
	s.attempt(ctx, "shorten the Sentinel's INFO period", s.limits.Step, s.shortenInfoPeriod)
	return s.step(ctx, "choose the target", s.limits.Prepare, func(ctx context.Context) error {
		var rivals []valkeyclient.MonitoredReplica
		// A Sentinel that has been told of the set only just now learns of a replica with its next INFO.
		err := await(ctx, leisurely, func(ctx context.Context) (bool, error) {
			var err error
			rivals, err = s.rivals(ctx)
			return err == nil, err
		})
		if err != nil || len(rivals) == 0 {
			return err
		}
		lowest := rivals[0].Priority
		for _, rival := range rivals {
			lowest = min(lowest, rival.Priority)
		}
		if s.to.Priority < lowest {
			return nil // it is preferred already
		}
		if lowest <= 1 {
			return fmt.Errorf("%w: another replica has replica-priority %d, which %s cannot go below", valkeyclient.ErrInvalid, lowest, s.to.Name)
		}
		s.atEnd("restore the target's priority", func(ctx context.Context) error { return setPriority(ctx, s.toNode, s.to.Priority) })
		if err := setPriority(ctx, s.toNode, 1); err != nil {
			return err
		}
		return await(ctx, leisurely, func(ctx context.Context) (bool, error) {
			seen, err := s.seenTarget(ctx)
			return seen.Priority == 1, err
		})
	})
}

// shortenInfoPeriod makes what comes next take one second instead of ten. It is a convenience: without the right to it, or if it
// is not put back, Sentinel works as well.
func (s *change) shortenInfoPeriod(ctx context.Context) error {
	lead := s.lead() // who leads may change
	periods, err := lead.DebugGet(ctx)
	if err != nil {
		return err
	}
	before, err := strconv.ParseInt(periods["info-period"], 10, 64)
	if err != nil || before <= hurriedInfoPeriod.Milliseconds() {
		// Left over by a change whose owner died.
		before = usualInfoPeriod.Milliseconds()
	}
	s.atEnd("restore the Sentinel's INFO period", func(ctx context.Context) error { return setInfoPeriod(ctx, lead, before) })
	err = setInfoPeriod(ctx, lead, hurriedInfoPeriod.Milliseconds())
	s.hurried = err == nil
	return err
}

func setInfoPeriod(ctx context.Context, sentinel valkeyclient.Sentinel, milliseconds int64) error {
	return sentinel.Debug(ctx, valkeyclient.Setting{Key: "info-period", Value: strconv.FormatInt(milliseconds, 10)})
}

var errNotKnown = errors.New("the Sentinel does not know the target as a working replica")

// rivals are the other replicas that the Sentinel might choose. It fails if the target is none that it might.
func (s *change) rivals(ctx context.Context) ([]valkeyclient.MonitoredReplica, error) {
	replicas, err := s.lead().Replicas(ctx, s.monitor)
	if err != nil {
		return nil, err
	}
	var rivals []valkeyclient.MonitoredReplica
	known := false
	for _, replica := range replicas {
		working := !replica.Flags.Has("s_down") && !replica.Flags.Has("o_down") && !replica.Flags.Has("disconnected")
		switch {
		case s.to.Is(topology.Address(replica.Address)):
			known = working
		case working && replica.Priority > 0:
			rivals = append(rivals, replica)
		}
	}
	if !known {
		return nil, errNotKnown
	}
	return rivals, nil
}

// seenTarget is the target as the leading Sentinel sees it.
func (s *change) seenTarget(ctx context.Context) (valkeyclient.MonitoredReplica, error) {
	replicas, err := s.lead().Replicas(ctx, s.monitor)
	if err != nil {
		return valkeyclient.MonitoredReplica{}, err
	}
	for _, replica := range replicas {
		if !s.to.Is(topology.Address(replica.Address)) {
			continue
		}
		if s.hurried && replica.InfoRefresh > 2*hurriedInfoPeriod { // another change on this Sentinel has put the period back
			_ = setInfoPeriod(ctx, s.lead(), hurriedInfoPeriod.Milliseconds())
		}
		return replica, nil
	}
	return valkeyclient.MonitoredReplica{}, errNotKnown
}

// awaitMoment waits until the Sentinel's last INFO of the target is as old as it should be.
func (s *change) awaitMoment(ctx context.Context) error {
	for {
		seen, err := s.seenTarget(ctx)
		if err != nil {
			return err
		}
		if seen.InfoRefresh >= momentEarly && seen.InfoRefresh <= momentLate {
			return nil
		}
		wait := leisurely
		if seen.InfoRefresh < momentEarly {
			wait = max(momentEarly-seen.InfoRefresh, time.Millisecond)
		}
		timer := time.NewTimer(wait)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return ctx.Err()
		}
	}
}
