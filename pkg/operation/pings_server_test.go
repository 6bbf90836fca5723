// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package operation_test

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/valkeykube/valkeykube/pkg/naming"
	"github.com/valkeykube/valkeykube/pkg/operation"
	"github.com/valkeykube/valkeykube/pkg/valkeyclient"
	"github.com/valkeykube/valkeykube/pkg/valkeyclient/valkeytest"
)

const pingPeriod = "repl-ping-replica-period"

// Where the right moment is missed, the Sentinel notices the promotion a second later. A ping a second comes before the old primary's turn then.
func TestCoordinatedUnderSentinelsCopiesNothingAnew(t *testing.T) {
	set := startSet(t, valkeytest.Default(t), 2, 3)
	for _, node := range set.Nodes {
		often := []valkeyclient.Setting{{Key: pingPeriod, Value: "1"}, {Key: "repl-timeout", Value: "3600"}}
		if err := node.Node().ConfigSet(t.Context(), often...); err != nil {
			t.Fatal(err)
		}
	}
	before := copies(t, set)
	for _, to := range []string{"node-1", "node-2", "node-0"} {
		request := operation.Request{Monitor: set.Monitor, To: to, PingPeriod: time.Second, LinkTimeout: time.Hour}
		result, err := failOver(t, set, naming.UserAPIServer, request, func(step string) {
			if step == "ask for failover" {
				missMoment(t, set, to)
			}
		})
		if err != nil || !result.Coordinated || result.Paused < 700*time.Millisecond {
			t.Fatalf("%+v, %v", result, err)
		}
		set.AwaitReplicas(t)
		set.AwaitSentinels(t)
	}
	if after := copies(t, set); after != before {
		t.Errorf("%d full copies were made", after-before)
	}
	for _, node := range set.Nodes {
		if config, err := node.Node().ConfigGet(t.Context(), pingPeriod); err != nil || config[pingPeriod] != "1" {
			t.Errorf("%s pings as %v, %v", node.Name, config, err)
		}
	}
}

// missMoment waits until the Sentinel that leads has only just heard from the target.
func missMoment(t *testing.T, set *valkeytest.Set, target string) {
	t.Helper()
	valkeytest.Eventually(t, "the Sentinel asks the target", func(ctx context.Context) error {
		replicas, err := set.Sentinels[0].Sentinel().Replicas(ctx, set.Monitor)
		for _, replica := range replicas {
			if replica.Address == nodeNamed(t, set, target).Address && replica.InfoRefresh < 300*time.Millisecond {
				return nil
			}
		}
		return fmt.Errorf("%+v, %w", replicas, err)
	})
}

// copies is how many full copies the set's nodes have given since they started.
func copies(t *testing.T, set *valkeytest.Set) int {
	t.Helper()
	sum := 0
	for _, node := range set.Nodes {
		_, rest, found := strings.Cut(node.Command("INFO", "stats"), "sync_full:")
		n, err := strconv.Atoi(strings.TrimSpace(strings.SplitN(rest, "\r", 2)[0]))
		if !found || err != nil {
			t.Fatalf("%s does not tell its full copies: %v", node.Name, err)
		}
		sum += n
	}
	return sum
}
