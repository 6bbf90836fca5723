// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package valkeyconf_test

import (
	"testing"
	"time"

	"github.com/valkeykube/valkeykube/pkg/valkeyconf"
)

func TestLinkTimes(t *testing.T) {
	for name, c := range map[string]struct {
		config        valkeyconf.Config
		ping, timeout time.Duration
	}{
		"the server's own":       {nil, 10 * time.Second, time.Minute},
		"said":                   {valkeyconf.Config{valkeyconf.D("repl-ping-replica-period", "3"), valkeyconf.D("repl-timeout", "20")}, 3 * time.Second, 20 * time.Second},
		"by the former name":     {valkeyconf.Config{valkeyconf.D("repl-ping-slave-period", "4")}, 4 * time.Second, time.Minute},
		"no number, and no time": {valkeyconf.Config{valkeyconf.D("repl-ping-replica-period", "x"), valkeyconf.D("repl-timeout", "0")}, 10 * time.Second, time.Minute},
	} {
		if ping, timeout := valkeyconf.LinkTimes(c.config); ping != c.ping || timeout != c.timeout {
			t.Errorf("%s: %s, %s", name, ping, timeout)
		}
	}
}
