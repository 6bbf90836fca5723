// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package operation

import (
	"context"
	"strconv"
	"time"

	"github.com/valkeykube/valkeykube/pkg/valkeyclient"
)

// pings are how often a primary pings its replicas, usually and while Sentinels carry out a hand-over.
//
// A ping is part of the primary's history, also while it holds back writes. One that comes between the promotion and the moment at which the old
// primary follows gives it, and the replicas that still follow it, more than the new primary has: all of them must copy all data anew then. Where
// the right moment was missed, a second passes there: with the usual period, a ping comes in every tenth of these.
type pings struct{ usual, spaced time.Duration }

// The server's own.
const (
	usualPingPeriod  = 10 * time.Second
	usualLinkTimeout = time.Minute
)

// pings are spaced out so far that the set works as well with it: if nobody puts it back, replicas still hear of their primary in time.
func (r Request) pings() pings {
	period, timeout := r.PingPeriod, r.LinkTimeout
	if period <= 0 {
		period = usualPingPeriod
	}
	if timeout <= 0 {
		timeout = usualLinkTimeout
	}
	return pings{usual: period, spaced: timeout * 3 / 4}
}

// spaceOutPings is in force until the end.
func (s *change) spaceOutPings(ctx context.Context) error {
	if s.pings.spaced <= s.pings.usual {
		return nil
	}
	s.atEnd("restore the old primary's pings", func(ctx context.Context) error { return setPingPeriod(ctx, s.fromNode, s.pings.usual) })
	return setPingPeriod(ctx, s.fromNode, s.pings.spaced)
}

func setPingPeriod(ctx context.Context, node valkeyclient.Node, period time.Duration) error {
	return node.ConfigSet(ctx, valkeyclient.Setting{Key: "repl-ping-replica-period", Value: strconv.Itoa(int(period.Seconds()))})
}
