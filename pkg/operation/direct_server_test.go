// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package operation_test

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/valkeykube/valkeykube/pkg/naming"
	"github.com/valkeykube/valkeykube/pkg/operation"
	"github.com/valkeykube/valkeykube/pkg/valkeyclient"
	"github.com/valkeykube/valkeykube/pkg/valkeyclient/valkeytest"
	"github.com/valkeykube/valkeykube/pkg/valkeyconf"
)

func TestCoordinatedWithoutSentinelsLosesNothing(t *testing.T) {
	valkeytest.Each(t, func(t *testing.T, binary valkeytest.Binary) {
		set := startSet(t, binary, 2, 0)
		load := startLoad(t, set, set.LocateByRole)
		from := "node-0"
		for _, to := range []string{"node-2", "node-1", ""} {
			load.ResetGap()
			result, err := failOver(t, set, naming.UserAPIServer, operation.Request{To: to}, nil)
			if err != nil || result.Phase != operation.Succeeded || !result.Coordinated || result.From != from || to != "" && result.To != to {
				t.Fatalf("%+v, %v", result, err)
			}
			awaitWrites(t, load, 200)
			t.Logf("longest gap between acknowledged writes: %s", load.LongestGap().Round(time.Millisecond))
			from = result.To
			set.AwaitReplicas(t) // all others follow
		}
		assertNothingLost(t, set, load, from)
	})
}

func TestCoordinatedWithoutSentinelsIsTakenBack(t *testing.T) {
	for name, inflict := range map[string]func(*valkeytest.Process){"dies": (*valkeytest.Process).Kill, "hangs": (*valkeytest.Process).Stop} {
		t.Run("target "+name, func(t *testing.T) {
			t.Parallel()
			set := startSet(t, valkeytest.Default(t), 2, 0)
			load := startLoad(t, set, set.LocateByRole)
			load.ResetGap()
			result, err := failOver(t, set, naming.UserOperator, operation.Request{To: "node-2"}, func(step string) {
				if step == "target catches up" {
					inflict(set.Nodes[2])
				}
			})
			if err == nil || result.Phase != operation.Failed {
				t.Fatalf("%+v, %v", result, err)
			}
			if done, left := result.Undone(); !slices.Equal(done, []string{"settle and resume"}) || len(left) > 0 {
				t.Errorf("undone %v, not undone %v", done, left)
			}
			awaitWrites(t, load, 500)
			if gap := load.LongestGap(); gap > 8*time.Second {
				t.Errorf("writes were held back for %s", gap)
			}
			assertNothingLost(t, set, load, "node-0")
		})
	}
}

func TestForcedWithoutSentinels(t *testing.T) {
	valkeytest.Each(t, func(t *testing.T, binary valkeytest.Binary) {
		set := startSet(t, binary, 2, 0)
		t.Run("the primary lives", func(t *testing.T) {
			result, err := failOver(t, set, naming.UserOperator, operation.Request{To: "node-1", Mode: operation.Forced}, nil)
			if err != nil || result.Phase != operation.Succeeded || result.Coordinated {
				t.Fatalf("%+v, %v", result, err)
			}
			set.AwaitReplicas(t)
		})
		t.Run("the primary is gone", func(t *testing.T) {
			set.Nodes[1].Kill()
			if _, err := failOver(t, set, naming.UserOperator, operation.Request{}, nil); !isRefused(err, operation.ReasonNoPrimary) {
				t.Fatalf("coordinated: %v", err)
			}
			result, err := failOver(t, set, naming.UserOperator, operation.Request{Mode: operation.Forced}, nil)
			if err != nil || result.Phase != operation.Succeeded || result.From != "node-1" {
				t.Fatalf("%+v, %v", result, err)
			}
			promoted := nodeNamed(t, set, result.To)
			role, err := promoted.Node().Role(t.Context())
			if err != nil || role.Role != valkeyclient.RolePrimary {
				t.Errorf("%+v, %v", role, err)
			}
			for _, other := range []*valkeytest.Process{set.Nodes[0], set.Nodes[2]} {
				if other == promoted {
					continue
				}
				if role, err := other.Node().Role(t.Context()); err != nil || role.Primary != promoted.Address {
					t.Errorf("%s: %+v, %v", other.Name, role, err)
				}
			}
		})
	})
}

// A node that came back empty is never promoted while another has the data, not even by force.
func TestEmptyNodeIsNeverPromoted(t *testing.T) {
	set := startSet(t, valkeytest.Default(t), 1, 0)
	load := startLoad(t, set, set.LocateByRole)
	load.Stop()
	set.AwaitReplicas(t)
	gone := set.Nodes[1]
	gone.Kill()
	lone := valkeytest.StartServer(t, valkeytest.Options{
		Binary: valkeytest.Default(t), Name: "node-1", Port: gone.Address.Port, Credentials: gone.Credentials,
		ACL: acl(t, valkeyconf.NodeUser, naming.SystemUsers()),
	})
	set.Nodes[1] = lone
	for _, mode := range []operation.Mode{operation.Coordinated, operation.Forced} {
		if _, err := failOver(t, set, naming.UserOperator, operation.Request{To: "node-1", Mode: mode}, nil); err == nil {
			t.Errorf("%s promoted an empty node", mode)
		}
	}
	_, err := failOver(t, set, naming.UserOperator, operation.Request{To: "node-1", Mode: operation.Forced}, nil)
	if !isRefused(err, operation.ReasonDataLoss) {
		t.Errorf("forced: %v", err)
	}
}

func isRefused(err error, reason operation.Reason) bool {
	var refused *operation.Refused
	if !errors.As(err, &refused) {
		return false
	}
	for _, cause := range refused.Causes {
		if cause.Reason == reason {
			return true
		}
	}
	return false
}
