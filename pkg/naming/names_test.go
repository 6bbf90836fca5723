// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package naming

import (
	"strings"
	"testing"
)

func TestChildrenOfTheLongestNamesAreLabels(t *testing.T) {
	valkey := strings.Repeat("v", MaxValkeyName)
	node := NodeName(valkey, MaxReplicas)
	sentinel := strings.Repeat("s", MaxValkeySentinelName)
	for _, name := range []string{
		NodePod(node), NodeClaim(node), NodeConfigMap(node), PrimaryService(valkey), ReplicasService(valkey), ValkeyService(valkey),
		NodeWorkload(node) + "-0123456789", SentinelWorkload(sentinel) + "-0123456789", SentinelPod(sentinel, 99),
	} {
		if len(name) > 63 {
			t.Errorf("%q has %d characters, more than a DNS label's 63", name, len(name))
		}
	}
	if len(node) > MaxValkeyNodeName {
		t.Errorf("node name %q is longer than a ValkeyNode's name may be", node)
	}
}

func TestNodeIndex(t *testing.T) {
	for node, want := range map[string]int{"a-0": 0, "a-12": 12, "a": -1, "a-": -1, "a-01": -1, "a--1": -1, "b-0": -1, "a-b-0": -1} {
		index, ok := NodeIndex("a", node)
		if ok != (want >= 0) || (ok && index != want) {
			t.Errorf("NodeIndex(a, %q) = %d, %v, want %d", node, index, ok, want)
		}
	}
}

func TestSentinelIDIsStableAndHasTheLengthSentinelDemands(t *testing.T) {
	id := SentinelID("uid", "valkey-sentinel-s-0")
	if len(id) != 40 || id != SentinelID("uid", "valkey-sentinel-s-0") || id == SentinelID("uid", "valkey-sentinel-s-1") {
		t.Errorf("unexpected id %q", id)
	}
}

func TestHosts(t *testing.T) {
	if got, want := NodeHost("v-1", "ns", "cluster.local"), "valkey-v-1-0.valkey-v-1.ns.svc.cluster.local"; got != want {
		t.Errorf("NodeHost = %q, want %q", got, want)
	}
	if got, want := SentinelHost("s", 2, "ns", "example.org"), "valkey-sentinel-s-2.valkey-sentinel-s.ns.svc.example.org"; got != want {
		t.Errorf("SentinelHost = %q, want %q", got, want)
	}
}
