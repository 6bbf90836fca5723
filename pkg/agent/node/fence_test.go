// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package node

import (
	"testing"

	"github.com/valkeykube/valkeykube/pkg/valkeyconf"
)

func TestLags(t *testing.T) {
	for name, test := range map[string]struct {
		config valkeyconf.Config
		want   lags
	}{
		"nothing set":         {nil, lags{silence: 2, closed: 2, open: 10}},
		"the user's own":      {valkeyconf.Config{valkeyconf.D("min-replicas-to-write", "1")}, lags{off: true, silence: 2, closed: 2, open: 10}},
		"its older name":      {valkeyconf.Config{valkeyconf.D("min-slaves-to-write", "0")}, lags{off: true, silence: 2, closed: 2, open: 10}},
		"the user's lag":      {valkeyconf.Config{valkeyconf.D("min-replicas-max-lag", "20")}, lags{silence: 20, closed: 20, open: 20}},
		"a short one":         {valkeyconf.Config{valkeyconf.D("min-replicas-max-lag", "1")}, lags{silence: 2, closed: 1, open: 1}},
		"a lag that is off":   {valkeyconf.Config{valkeyconf.D("min-replicas-max-lag", "0")}, lags{off: true, silence: 2}},
		"the last one counts": {valkeyconf.Config{valkeyconf.D("min-replicas-max-lag", "5"), valkeyconf.D("min-replicas-max-lag", "7")}, lags{silence: 7, closed: 7, open: 7}},
	} {
		if got := lagsOf(test.config); got != test.want {
			t.Errorf("%s: %+v", name, got)
		}
	}
}
