// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package operation_test

import (
	"testing"

	"github.com/valkeykube/valkeykube/pkg/naming"
	"github.com/valkeykube/valkeykube/pkg/operation"
	"github.com/valkeykube/valkeykube/pkg/valkeyclient/valkeytest"
)

func TestCoordinatedUnderSentinelsLosesNothing(t *testing.T) {
	valkeytest.Each(t, func(t *testing.T, binary valkeytest.Binary) {
		set := startSet(t, binary, 2, 3)
		load := valkeytest.StartLoad(t, 2, set.LocateBySentinels)
		from := set.Nodes[0].Name
		for _, user := range []string{naming.UserOperator, naming.UserAPIServer, naming.UserAgent} {
			load.ResetGap()
			result, err := failOver(t, set, user, operation.Request{Monitor: set.Monitor})
			t.Logf("%s: %s; longest gap %s, paused %s", user, result.Summary(), load.LongestGap(), result.Paused)
			logSteps(t, result)
			if err != nil || result.Phase != operation.Succeeded || !result.Coordinated || result.From != from || result.To == from {
				t.Fatalf("%+v, %v", result, err)
			}
			from = result.To
			set.AwaitReplicas(t)
			set.AwaitSentinels(t)
		}
		load.Stop()
		if lost := load.Lost(t, nodeNamed(t, set, from)); lost != 0 {
			t.Errorf("%d of %d acknowledged writes lost", lost, load.Acknowledged())
		}
	})
}
