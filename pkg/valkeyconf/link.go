// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package valkeyconf

import (
	"strconv"
	"time"
)

// The server's own, in seconds, of 8.0 to 9.1 alike.
const (
	usualPingPeriod  = 10
	usualLinkTimeout = 60
)

// LinkTimes are repl-ping-replica-period and repl-timeout of a server with the configuration: how often a primary pings its replicas, and after
// how long without a word either side gives the link up.
func LinkTimes(config Config) (ping, timeout time.Duration) {
	seconds := func(name string, usual int) time.Duration {
		directive, _ := config.Last(name)
		n, err := strconv.Atoi(directive.Value())
		if err != nil || n < 1 {
			n = usual
		}
		return time.Duration(n) * time.Second
	}
	return seconds("repl-ping-replica-period", usualPingPeriod), seconds("repl-timeout", usualLinkTimeout)
}
