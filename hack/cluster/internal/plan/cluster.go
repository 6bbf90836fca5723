// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"fmt"
	"net"
	"path/filepath"
	"regexp"
	"strconv"
)

const (
	// NodeCount is the number of nodes of every cluster.
	NodeCount = 3
	// MaxSlots is how many clusters can be up at once on a machine.
	MaxSlots = 8
	// StateRoot has one folder per cluster.
	StateRoot = "/var/lib/valkeykube"
	// APIPort is where kube-apiserver listens inside the lab.
	APIPort = 6443
	// firstPort is the port of slot 0 on the machine's own loopback interface.
	firstPort = 26443
)

// A name becomes part of network namespace, cgroup and folder names; unix sockets below the folder may have 108 bytes.
var validName = regexp.MustCompile("^[a-z]([a-z0-9-]{0,18}[a-z0-9])?$")

// Cluster is where everything of one cluster is. Clusters with different slots share no address, and clusters with
// different names share no name.
type Cluster struct {
	Name string
	Slot int
	Shape
	Nodes []Node
	// Root is the folder that has the cluster's own.
	Root string
}

// Node is a network namespace with a kubelet and a container runtime of its own.
type Node struct {
	Name string
	Zone string
	// Netns is the name of the network namespace.
	Netns string
	// Port is the name of the bridge port in the control plane's namespace that leads to the node.
	Port string
	// Addresses are the node's, PodRanges those of its pods: one of each kind that the cluster has.
	Addresses, PodRanges []string
	// Dir holds everything that the node keeps; Volumes is the part with the data of the pods.
	Dir, Volumes string
	// Cgroup is the parent of the cgroups of the node's pods.
	Cgroup string
}

// New lays out the cluster of that name and shape in that slot.
func New(name string, slot int, shape Shape) (Cluster, error) {
	return Below(StateRoot, name, slot, shape)
}

// Below is New with another folder for the files.
func Below(root, name string, slot int, shape Shape) (Cluster, error) {
	if !validName.MatchString(name) {
		return Cluster{}, fmt.Errorf("cluster name %q: use up to 20 of a-z, 0-9 and -, starting with a letter", name)
	}
	if slot < 0 || slot >= MaxSlots {
		return Cluster{}, fmt.Errorf("cluster slot %d: there are %d", slot, MaxSlots)
	}
	if err := shape.Validate(); err != nil {
		return Cluster{}, err
	}
	c := Cluster{Name: name, Slot: slot, Shape: shape.Completed(), Root: root}
	for i := 1; i <= NodeCount; i++ {
		node := fmt.Sprintf("node-%d", i)
		dir := filepath.Join(c.Dir(), "nodes", node)
		c.Nodes = append(c.Nodes, Node{
			Name:      node,
			Zone:      fmt.Sprintf("zone-%d", i),
			Netns:     "vk-" + name + "-" + node,
			Port:      fmt.Sprintf("port-%d", i),
			Addresses: c.each(func(l layout) string { return l.host(slot, 10+i) }),
			PodRanges: c.each(func(l layout) string { return l.pods(slot, i) }),
			Dir:       dir,
			Volumes:   filepath.Join(dir, "volumes"),
			Cgroup:    c.Cgroup() + "/" + node,
		})
	}
	return c, nil
}

// Node finds a node by its name.
func (c Cluster) Node(name string) (Node, error) {
	for _, node := range c.Nodes {
		if node.Name == name {
			return node, nil
		}
	}
	return Node{}, fmt.Errorf("cluster %s has no node %q: it has node-1 to node-%d", c.Name, name, len(c.Nodes))
}

// Netns is the network namespace of the control plane.
func (c Cluster) Netns() string { return "vk-" + c.Name + "-cp" }

// Forwarder is the address on the machine's own loopback interface that leads to kube-apiserver.
func (c Cluster) Forwarder() string { return fmt.Sprintf("127.0.0.1:%d", firstPort+c.Slot) }

// ServerAddress is where kube-apiserver listens inside the lab.
func (c Cluster) ServerAddress() string {
	return net.JoinHostPort(c.Addresses()[0], strconv.Itoa(APIPort))
}

// Server is kube-apiserver's URL inside the lab.
func (c Cluster) Server() string { return "https://" + c.ServerAddress() }

// Cgroup is the parent of all cgroups of the cluster.
func (c Cluster) Cgroup() string { return "/valkeykube-" + c.Name }

// DaemonCgroup is where a daemon and what it starts outside of pods is found again, whatever else is lost.
func (c Cluster) DaemonCgroup(daemon string) string { return c.Cgroup() + "/daemons/" + daemon }

// Dir is the folder of everything that the cluster keeps.
func (c Cluster) Dir() string { return filepath.Join(c.Root, c.Name) }

// Path is a place below Dir.
func (c Cluster) Path(elements ...string) string {
	return filepath.Join(append([]string{c.Dir()}, elements...)...)
}

// Kubeconfig is the administrator's kubeconfig, which works on the machine itself.
func (c Cluster) Kubeconfig() string { return c.Path("kubeconfig") }

// AuditLog has a line for every write to the API.
func (c Cluster) AuditLog() string { return c.Path("logs", "audit.log") }

// Tool is the copy of this program that the cluster's own daemons run.
func (c Cluster) Tool() string { return c.Path("bin", "cluster") }
