// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package operation_test

import (
	"context"
	"fmt"
	"strconv"
	"testing"

	"github.com/valkeykube/valkeykube/pkg/naming"
	"github.com/valkeykube/valkeykube/pkg/operation"
	"github.com/valkeykube/valkeykube/pkg/valkeyclient"
	"github.com/valkeykube/valkeykube/pkg/valkeyclient/valkeytest"
)

// Somebody else fails over between the preparations of a hand-over and its pause. Whoever is promoted stays: its writes were never held back.
func TestCoordinatedUnderSentinelsBesideAnother(t *testing.T) {
	set := startSet(t, valkeytest.Default(t), 2, 3)
	other := set.Sentinels[1].Sentinel()
	var promoted valkeyclient.Address
	result, err := failOver(t, set, naming.UserOperator, operation.Request{Monitor: set.Monitor, To: "node-2"}, func(step string) {
		if step != "await the right moment" {
			return
		}
		prefer(t, set, other, 1)
		if err := other.Failover(t.Context(), set.Monitor); err != nil {
			t.Error(err)
		}
		valkeytest.Eventually(t, "everybody follows another", func(ctx context.Context) error {
			for _, sentinel := range set.Sentinels {
				named, err := sentinel.Sentinel().PrimaryAddr(ctx, set.Monitor)
				if err != nil || named == set.Nodes[0].Address {
					return fmt.Errorf("%s names %s, %w", sentinel.Name, named, err)
				}
				promoted = named
			}
			replication, err := set.Nodes[0].Node().Replication(ctx)
			if err == nil && !replication.LinkUp {
				err = fmt.Errorf("node-0 does not follow")
			}
			return err
		})
	})
	t.Logf("%s, %v", result.Summary(), err)
	if promoted != set.Nodes[1].Address {
		t.Fatalf("%s was promoted by the other Sentinel", promoted)
	}
	for _, sentinel := range set.Sentinels {
		monitor, err := sentinel.Sentinel().MonitorByName(t.Context(), set.Monitor)
		if err != nil || monitor.Primary != promoted || monitor.Flags.Has("failover_in_progress") {
			t.Errorf("%s: %+v, not %s at rest (%v)", sentinel.Name, monitor, promoted, err)
		}
	}
	set.AwaitReplicas(t)
}

// prefer makes a Sentinel choose the node.
func prefer(t *testing.T, set *valkeytest.Set, sentinel valkeyclient.Sentinel, index int) {
	t.Helper()
	wanted := map[valkeyclient.Address]int{}
	for i, node := range set.Nodes[1:] {
		priority := 100
		if i+1 == index {
			priority = 50
		}
		wanted[node.Address] = priority
		if err := node.Node().ConfigSet(t.Context(), valkeyclient.Setting{Key: "replica-priority", Value: strconv.Itoa(priority)}); err != nil {
			t.Fatal(err)
		}
	}
	if err := sentinel.Debug(t.Context(), valkeyclient.Setting{Key: "info-period", Value: "1000"}); err != nil {
		t.Fatal(err)
	}
	valkeytest.Eventually(t, "the Sentinel knows the priorities", func(ctx context.Context) error {
		replicas, err := sentinel.Replicas(ctx, set.Monitor)
		for _, replica := range replicas {
			if err == nil && wanted[replica.Address] != replica.Priority {
				err = fmt.Errorf("%s has %d", replica.Address, replica.Priority)
			}
		}
		return err
	})
}
