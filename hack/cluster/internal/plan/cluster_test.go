// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"net/netip"
	"slices"
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
		c, err := New(name, slot, Shape{Family: Dual})
		if err != nil {
			t.Fatal(err)
		}
		for _, what := range slices.Concat([]string{c.Netns(), c.Cgroup(), c.Dir(), c.Forwarder(), c.Kubeconfig()}, c.Addresses(), c.PodRanges()) {
			claim(name, what)
		}
		for _, node := range c.Nodes {
			for _, what := range slices.Concat([]string{node.Netns, node.Cgroup, node.Dir}, node.Addresses, node.PodRanges) {
				claim(name+"/"+node.Name, what)
			}
		}
	}
}

func TestRangesOfAllSlotsAreDisjoint(t *testing.T) {
	var ranges []netip.Prefix
	for slot := range MaxSlots {
		c, err := New("x", slot, Shape{Family: Dual})
		if err != nil {
			t.Fatal(err)
		}
		texts := append(c.PodRanges(), c.WithPrefix(c.Addresses())...)
		if slot == 0 {
			texts = append(texts, c.ServiceRanges()...)
		}
		for _, text := range texts {
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
	for family, kinds := range map[Family][]string{"": {"."}, IPv4: {"."}, IPv6: {":"}, Dual: {".", ":"}} {
		c, err := New("demo", 3, Shape{Family: family})
		if err != nil {
			t.Fatal(err)
		}
		if len(c.Nodes) != NodeCount {
			t.Fatalf("%d nodes, want %d", len(c.Nodes), NodeCount)
		}
		for i, kind := range kinds {
			pods := netip.MustParsePrefix(c.PodRanges()[i])
			network := netip.MustParsePrefix(c.WithPrefix(c.Addresses())[i]).Masked()
			for _, node := range c.Nodes {
				if own := netip.MustParsePrefix(node.PodRanges[i]); !pods.Contains(own.Addr()) || len(node.PodRanges) != len(kinds) {
					t.Errorf("%s, %s: pod range %s is not in %s", family, node.Name, own, pods)
				}
				if !network.Contains(netip.MustParseAddr(node.Addresses[i])) || !strings.Contains(node.Addresses[i], kind) {
					t.Errorf("%s, %s: address %s is not in %s", family, node.Name, node.Addresses[i], network)
				}
			}
		}
		if found, err := c.Node("node-2"); err != nil || found.Dir != c.Nodes[1].Dir {
			t.Errorf("Node(node-2) = %v, %v", found, err)
		}
		if _, err := c.Node("node-4"); err == nil {
			t.Error("a fourth node is found")
		}
	}
}

func TestServiceAddressesAreInTheServiceRange(t *testing.T) {
	for _, family := range []Family{IPv4, IPv6, Dual} {
		c, err := New("demo", 0, Shape{Family: family})
		if err != nil {
			t.Fatal(err)
		}
		services := netip.MustParsePrefix(c.ServiceRanges()[0])
		for _, address := range []string{c.APIService(), c.DNSService()} {
			if !services.Contains(netip.MustParseAddr(address)) {
				t.Errorf("%s: %s is not in %s", family, address, services)
			}
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
