// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"maps"
	"slices"
)

// SentinelCount is how many Sentinels are to be looked at: those that are wanted and those that exist.
func SentinelCount(observed Observed) int {
	return max(observed.currentSize(), int(observed.Set.Spec.Replicas))
}

// NeedsPeers are the monitors of which some Sentinel counts more peers or replicas than there should be, sorted: of these it has to be
// known whom it counts.
func NeedsPeers(observed Observed) []string {
	nodes := map[string]int{}
	for _, valkey := range observed.Valkeys {
		nodes[valkey.Monitor] = len(valkey.Nodes)
	}
	needs := map[string]bool{}
	for _, sentinel := range observed.Sentinels {
		for name, view := range sentinel.View.Monitors {
			if n, wanted := nodes[name]; wanted && (view.NumOtherSentinels > observed.currentSize()-1 || view.NumReplicas > n-1) {
				needs[name] = true
			}
		}
	}
	return slices.Sorted(maps.Keys(needs))
}

// StillWanted tells whether an action of an earlier plan is in the plan of a fresh look, too. It is asked right before something disruptive.
func StillWanted(observed Observed, action Action) bool {
	for _, wanted := range Compute(observed).Actions {
		if wanted.Tier() == action.Tier() && wanted.String() == action.String() {
			return true
		}
	}
	return false
}
