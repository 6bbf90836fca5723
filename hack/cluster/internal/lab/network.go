// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package lab

import (
	"github.com/valkeykube/valkeykube/hack/cluster/internal/host"
	"github.com/valkeykube/valkeykube/hack/cluster/internal/plan"
)

const (
	// bridge joins the nodes in the control plane's network namespace; uplink is a node's end of the cable.
	bridge = "lab0"
	uplink = "eth0"
)

// ensureNetwork makes the network namespaces and connects them. No interface of it is ever in the machine's own
// namespace and no namespace has a default route: there is no way in or out.
func (l *Lab) ensureNetwork() error {
	c := l.cluster
	if err := host.AddNetns(c.Netns(), c.HasIPv6()); err != nil {
		return err
	}
	if !host.HasLink(c.Netns(), bridge) {
		if err := host.Run("ip", "-n", c.Netns(), "link", "add", bridge, "type", "bridge"); err != nil {
			return err
		}
	}
	for _, address := range c.WithPrefix(c.Addresses()) {
		if err := host.Run("ip", "-n", c.Netns(), "address", "replace", address, "dev", bridge); err != nil {
			return err
		}
	}
	if err := host.SetLink(c.Netns(), bridge, true); err != nil {
		return err
	}
	for _, node := range c.Nodes {
		if err := l.ensureNodeNetwork(node); err != nil {
			return err
		}
	}
	return nil
}

// ensureNodeNetwork connects one node and gives both sides their routes.
func (l *Lab) ensureNodeNetwork(node plan.Node) error {
	c := l.cluster
	if err := host.AddNetns(node.Netns, c.HasIPv6()); err != nil {
		return err
	}
	if !host.HasLink(node.Netns, uplink) {
		if host.HasLink(c.Netns(), node.Port) {
			if err := host.Run("ip", "-n", c.Netns(), "link", "delete", node.Port); err != nil {
				return err
			}
		}
		if err := host.Run("ip", "-n", c.Netns(), "link", "add", node.Port, "type", "veth",
			"peer", "name", uplink, "netns", node.Netns); err != nil {
			return err
		}
	}
	commands := [][]string{{"-n", c.Netns(), "link", "set", node.Port, "master", bridge, "up"}}
	for _, address := range c.WithPrefix(node.Addresses) {
		commands = append(commands, []string{"-n", node.Netns, "address", "replace", address, "dev", uplink})
	}
	commands = append(commands, []string{"-n", node.Netns, "link", "set", uplink, "up"})
	for _, command := range append(commands, routes(c, node)...) {
		if err := host.Run("ip", command...); err != nil {
			return err
		}
	}
	return nil
}

// routes are those of a node, and the control plane's to it.
func routes(c plan.Cluster, node plan.Node) [][]string {
	var commands [][]string
	for i, address := range node.Addresses {
		commands = append(commands,
			[]string{"-n", c.Netns(), "route", "replace", node.PodRanges[i], "via", address},
			// A process of the node itself needs some route to a Service before its address is translated.
			[]string{"-n", node.Netns, "route", "replace", c.ServiceRanges()[i], "dev", uplink})
		for _, other := range c.Nodes {
			if other.Name != node.Name {
				commands = append(commands, []string{"-n", node.Netns, "route", "replace", other.PodRanges[i], "via", other.Addresses[i]})
			}
		}
	}
	return commands
}
