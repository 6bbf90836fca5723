// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package process

import (
	"context"
	"os"
	"os/signal"
	"syscall"
)

// Signals separates the signals that ask for an end from those that are only passed on to the server.
type Signals struct {
	// Stop gets SIGTERM and SIGINT.
	Stop <-chan os.Signal
	// Other gets the rest of what people and tools send: SIGHUP, SIGUSR1, SIGUSR2, SIGQUIT.
	Other <-chan os.Signal

	stop, other chan os.Signal
}

// CatchSignals takes the signals from now on.
func CatchSignals() *Signals {
	s := &Signals{stop: make(chan os.Signal, 4), other: make(chan os.Signal, 4)}
	s.Stop, s.Other = s.stop, s.other
	signal.Notify(s.stop, syscall.SIGTERM, syscall.SIGINT)
	signal.Notify(s.other, syscall.SIGHUP, syscall.SIGUSR1, syscall.SIGUSR2, syscall.SIGQUIT)
	return s
}

// Demand cancels what is done before the end if the end is asked for once more before ctx ends: a second request is a demand.
func (s *Signals) Demand(ctx context.Context, cancel context.CancelFunc) {
	select {
	case <-s.Stop:
		cancel()
	case <-ctx.Done():
	}
}

// Pass passes the other signals on to the child until it ends.
func (s *Signals) Pass(child *Child) {
	for {
		select {
		case received := <-s.other:
			if number, ok := received.(syscall.Signal); ok {
				child.Signal(number)
			}
		case <-child.Done():
			return
		}
	}
}

// Ignore takes no further signals.
func (s *Signals) Ignore() {
	signal.Stop(s.stop)
	signal.Stop(s.other)
}
