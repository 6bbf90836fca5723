// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"net/netip"
	"strings"
	"testing"
)

func TestClustersShareNothing(t *testing.T) {
	seen := map[string]string{}
	claim := func(owner, what string) {
		if other, taken := seen[what]; taken {
			t.Errorf("%s and %s both have %s", other, owner, what)
		}
		seen[what] = owner
	}
	for slot, name := range []string{"demo", "demo-2", "e2e", "a"} {
		c, err := New(name, slot, Shape{})
		if err != nil {
			t.Fatal(err)
		}
		for _, what := range []string{c.Netns(), c.Cgroup(), c.Dir(), c.Forwarder(), c.Address(), c.PodRange(), c.Kubeconfig()} {
			claim(name, what)
		}
		for _, node := range c.Nodes {
			for _, what := range []string{node.Netns, node.Cgroup, node.Dir, node.Address, node.PodRange} {
				claim(name+"/"+node.Name, what)
			}
		}
	}
}

func TestRangesOfAllSlotsAreDisjoint(t *testing.T) {
	ranges := []netip.Prefix{netip.MustParsePrefix(ServiceRange)}
	for slot := range MaxSlots {
		c, err := New("x", slot, Shape{})
		if err != nil {
			t.Fatal(err)
		}
		for _, text := range []string{c.PodRange(), c.Address() + "/24"} {
			next := netip.MustParsePrefix(text).Masked()
			for _, other := range ranges {
				if next.Overlaps(other) {
					t.Errorf("slot %d: %s overlaps %s", slot, next, other)
				}
			}
			ranges = append(ranges, next)
		}
	}
}

func TestNodesAreInTheirClustersRanges(t *testing.T) {
	c, err := New("demo", 3, Shape{})
	if err != nil {
		t.Fatal(err)
	}
	if len(c.Nodes) != NodeCount {
		t.Fatalf("%d nodes, want %d", len(c.Nodes), NodeCount)
	}
	pods := netip.MustParsePrefix(c.PodRange())
	network := netip.MustParsePrefix(c.Address() + "/24").Masked()
	for _, node := range c.Nodes {
		if own := netip.MustParsePrefix(node.PodRange); !pods.Contains(own.Addr()) {
			t.Errorf("%s: pod range %s is not in %s", node.Name, own, pods)
		}
		if !network.Contains(netip.MustParseAddr(node.Address)) {
			t.Errorf("%s: address %s is not in %s", node.Name, node.Address, network)
		}
		if found, err := c.Node(node.Name); err != nil || found != node {
			t.Errorf("Node(%s) = %v, %v", node.Name, found, err)
		}
	}
	if _, err := c.Node("node-4"); err == nil {
		t.Error("a fourth node is found")
	}
}

func TestServiceAddressesAreInTheServiceRange(t *testing.T) {
	services := netip.MustParsePrefix(ServiceRange)
	for _, address := range []string{APIService, DNSService} {
		if !services.Contains(netip.MustParseAddr(address)) {
			t.Errorf("%s is not in %s", address, services)
		}
	}
}

func TestNamesAndSlotsAreChecked(t *testing.T) {
	for _, name := range []string{"", "Demo", "1a", "a-", "-a", "a/b", "a.b", "..", strings.Repeat("a", 21), "a\n"} {
		if _, err := New(name, 0, Shape{}); err == nil {
			t.Errorf("name %q is taken", name)
		}
	}
	for _, slot := range []int{-1, MaxSlots} {
		if _, err := New("demo", slot, Shape{}); err == nil {
			t.Errorf("slot %d is taken", slot)
		}
	}
}

// A unix socket's path may have 107 bytes; containerd's own adds to the longest folder of a node.
func TestLongestNameLeavesRoomForSockets(t *testing.T) {
	c, err := New(strings.Repeat("a", 20), 0, Shape{})
	if err != nil {
		t.Fatal(err)
	}
	if path := c.Nodes[0].Dir + "/containerd/containerd.sock.ttrpc"; len(path) > 107 {
		t.Errorf("%s has %d bytes", path, len(path))
	}
}
