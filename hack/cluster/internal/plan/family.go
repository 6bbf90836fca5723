// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package plan

import "fmt"

// Family is what kind of addresses a cluster has.
type Family string

// A dual cluster has both kinds, IPv4 first.
const (
	IPv4 Family = "ipv4"
	IPv6 Family = "ipv6"
	Dual Family = "dual"
)

// layout is where the addresses of one kind are. The Service range is the same in every cluster: clusters do not see each other.
type layout struct {
	services, api, dns, everywhere, reverse string
	prefixLength                            int
	// host and pods are an address on the nodes' network and the pods of a node, or of all nodes.
	host    func(slot, number int) string
	pods    func(slot, node int) string
	allPods func(slot int) string
}

var layouts = map[Family]layout{
	IPv4: {
		services: "10.96.0.0/16", api: "10.96.0.1", dns: "10.96.0.10", everywhere: "0.0.0.0/0", reverse: "in-addr.arpa", prefixLength: 24,
		host:    func(slot, number int) string { return fmt.Sprintf("172.30.%d.%d", slot, number) },
		pods:    func(slot, node int) string { return fmt.Sprintf("10.%d.%d.0/24", 128+slot, node) },
		allPods: func(slot int) string { return fmt.Sprintf("10.%d.0.0/16", 128+slot) },
	},
	IPv6: {
		services: "fd98:96::/112", api: "fd98:96::1", dns: "fd98:96::a", everywhere: "::/0", reverse: "ip6.arpa", prefixLength: 64,
		host:    func(slot, number int) string { return fmt.Sprintf("fd98:30:%d::%d", slot, number) },
		pods:    func(slot, node int) string { return fmt.Sprintf("fd98:128:%d:%d::/64", slot, node) },
		allPods: func(slot int) string { return fmt.Sprintf("fd98:128:%d::/48", slot) },
	},
}

// layouts are those of a cluster, that of its first addresses first.
func (c Cluster) layouts() []layout {
	if c.Family == Dual {
		return []layout{layouts[IPv4], layouts[IPv6]}
	}
	return []layout{layouts[c.Family]}
}

// each is something of every layout.
func (c Cluster) each(something func(layout) string) []string {
	var all []string
	for _, l := range c.layouts() {
		all = append(all, something(l))
	}
	return all
}

// HasIPv6 tells whether any address is of IPv6.
func (c Cluster) HasIPv6() bool { return c.Family != IPv4 }

// HasIPv4 tells whether any address is of IPv4.
func (c Cluster) HasIPv4() bool { return c.Family != IPv6 }

// Addresses are the control plane's on the nodes' network.
func (c Cluster) Addresses() []string {
	return c.each(func(l layout) string { return l.host(c.Slot, 1) })
}

// ServiceRanges have the addresses of Services.
func (c Cluster) ServiceRanges() []string {
	return c.each(func(l layout) string { return l.services })
}

// PodRanges have the pod ranges of all nodes.
func (c Cluster) PodRanges() []string {
	return c.each(func(l layout) string { return l.allPods(c.Slot) })
}

// Everywhere is the destination of a default route of each kind.
func (c Cluster) Everywhere() []string { return c.each(func(l layout) string { return l.everywhere }) }

// ReverseZones have the names of addresses.
func (c Cluster) ReverseZones() []string { return c.each(func(l layout) string { return l.reverse }) }

// APIService is the address of the Service "kubernetes".
func (c Cluster) APIService() string { return c.layouts()[0].api }

// DNSService is the address of the cluster DNS.
func (c Cluster) DNSService() string { return c.layouts()[0].dns }

// WithPrefix are addresses on the nodes' network, each with the length of the network.
func (c Cluster) WithPrefix(addresses []string) []string {
	var all []string
	for i, l := range c.layouts() {
		all = append(all, fmt.Sprintf("%s/%d", addresses[i], l.prefixLength))
	}
	return all
}
