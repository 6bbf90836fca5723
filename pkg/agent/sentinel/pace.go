// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package sentinel

import (
	"context"
	"errors"
	"strconv"
	"time"

	"github.com/valkeykube/valkeykube/pkg/valkeyclient"
)

const (
	// usualPing is how often Sentinel asks a server at most, by itself (sentinel_ping_period in sentinel.c), and again after a connection failed.
	usualPing = time.Second
	// minPing is how often Sentinel looks at what there is to do.
	minPing = 100 * time.Millisecond
	// pingsPerDownAfter may be lost, or come late, before a server is held for down.
	pingsPerDownAfter = 5
	// paceEvery is how often the settings of the monitors are looked at.
	paceEvery = 500 * time.Millisecond
)

// keepPace has the Sentinel ask often enough for the shortest down-after of its monitors. One of less than two ping periods can pass between two
// questions: then a primary is held for down right after it was promoted, and the next failover goes back to the old one, which never had what the
// new one was told meanwhile.
func (a *Agent) keepPace(ctx context.Context) {
	said := ""
	for ; ctx.Err() == nil; pause(ctx, paceEvery) {
		s, err := a.stored()
		if err == nil {
			err = a.setPing(ctx, pingPeriod(s.shortestDownAfter()))
		}
		switch {
		case err == nil:
			said = ""
		case !errors.Is(err, valkeyclient.ErrUnreachable) && err.Error() != said && ctx.Err() == nil:
			said = err.Error()
			a.options.Log.Warn("how often the Sentinel asks is not set", "err", err)
		}
	}
}

func pingPeriod(downAfter time.Duration) time.Duration {
	return min(max(downAfter/pingsPerDownAfter, minPing), usualPing)
}

// setPing asks first: another hand may have set it, or the Sentinel may be a new process.
func (a *Agent) setPing(ctx context.Context, period time.Duration) error {
	client, err := a.ownSentinel()
	if err != nil {
		return err
	}
	wanted := valkeyclient.Setting{Key: "ping-period", Value: strconv.FormatInt(period.Milliseconds(), 10)}
	now, err := client.DebugGet(ctx)
	if err != nil || now[wanted.Key] == wanted.Value {
		return err
	}
	if err := client.Debug(ctx, wanted); err != nil {
		return err
	}
	a.options.Log.Info("how often the Sentinel asks", "period", period, "before", now[wanted.Key]+"ms")
	return nil
}

// ownSentinel is the agent's own, with the login that Sentinels have on each other.
func (a *Agent) ownSentinel() (valkeyclient.Sentinel, error) {
	own := a.target()
	own.Credentials = valkeyclient.Credentials{Username: a.settings.PeerUser, Password: a.settings.PeerPass}
	return a.clients.Sentinel(own)
}
