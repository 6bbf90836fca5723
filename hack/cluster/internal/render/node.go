// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package render

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/valkeykube/valkeykube/hack/cluster/internal/plan"
)

// PauseImage is the image that holds a pod's namespaces.
const PauseImage = "valkeykube/pause:v1"

// CoreDNSImage is the image of the cluster DNS.
const CoreDNSImage = "valkeykube/coredns:v1.15.0"

// Network is the name of a cluster's pod network.
func Network(c plan.Cluster) string { return "valkeykube-" + c.Name }

// NodePaths are a node's places.
type NodePaths struct{ node plan.Node }

// PathsOf returns the places of a node.
func PathsOf(node plan.Node) NodePaths { return NodePaths{node: node} }

// ContainerdSocket is where the node's container runtime listens.
func (p NodePaths) ContainerdSocket() string { return p.node.Dir + "/containerd/containerd.sock" }

// ContainerdState is what containerd and its shims hold of running containers; it means nothing once they are gone.
func (p NodePaths) ContainerdState() string { return p.node.Dir + "/containerd" }

// ContainerdRoot has images and file systems.
func (p NodePaths) ContainerdRoot() string { return p.node.Dir + "/images" }

// ContainerdConfig is containerd's configuration file.
func (p NodePaths) ContainerdConfig() string { return p.node.Dir + "/etc/containerd.toml" }

// CNIConfig is the folder of the pod network's configuration.
func (p NodePaths) CNIConfig() string { return p.node.Dir + "/etc/cni" }

// CNIState has the addresses given out.
func (p NodePaths) CNIState() string { return p.node.Dir + "/addresses" }

// Kubelet is the kubelet's own folder.
func (p NodePaths) Kubelet() string { return p.node.Dir + "/kubelet" }

// KubeletConfig is the kubelet's configuration file.
func (p NodePaths) KubeletConfig() string { return p.node.Dir + "/etc/kubelet.yaml" }

// ProxyConfig is kube-proxy's configuration file.
func (p NodePaths) ProxyConfig() string { return p.node.Dir + "/etc/kube-proxy.yaml" }

// Logs has the logs of the pods.
func (p NodePaths) Logs() string { return p.node.Dir + "/logs" }

// Containerd is the configuration of a node's container runtime. Everything that it would keep in a place of the whole
// machine is moved below the node's folder. restrict_oom_score_adj lets containers start where the machine forbids
// lowering that score. AppArmor is off because its profile would stay loaded in the kernel.
func Containerd(node plan.Node, cniPlugins string) []byte {
	p := PathsOf(node)
	return fmt.Appendf(nil, `version = 3
root = %[1]q
state = %[2]q
temp = %[3]q
disabled_plugins = [
  "io.containerd.nri.v1.nri",
  "io.containerd.snapshotter.v1.blockfile",
  "io.containerd.snapshotter.v1.btrfs",
  "io.containerd.snapshotter.v1.devmapper",
  "io.containerd.snapshotter.v1.erofs",
  "io.containerd.snapshotter.v1.zfs",
  "io.containerd.tracing.processor.v1.otlp",
]

[grpc]
address = %[4]q

[plugins."io.containerd.internal.v1.opt"]
path = %[5]q

[plugins."io.containerd.image-verifier.v1.bindir"]
bin_dir = %[10]q

[plugins."io.containerd.cri.v1.images"]
snapshotter = "overlayfs"

[plugins."io.containerd.cri.v1.images".pinned_images]
sandbox = %[6]q

[plugins."io.containerd.cri.v1.runtime"]
restrict_oom_score_adj = true
enable_unprivileged_ports = true
enable_unprivileged_icmp = true
netns_mounts_under_state_dir = true
disable_apparmor = true

[plugins."io.containerd.cri.v1.runtime".cni]
bin_dirs = [%[7]q]
conf_dir = %[8]q
use_internal_loopback = true

[plugins."io.containerd.cri.v1.runtime".containerd]
default_runtime_name = "runc"

[plugins."io.containerd.cri.v1.runtime".containerd.runtimes.runc]
runtime_type = "io.containerd.runc.v2"

[plugins."io.containerd.cri.v1.runtime".containerd.runtimes.runc.options]
SystemdCgroup = false
Root = %[9]q
`, p.ContainerdRoot(), p.ContainerdState(), node.Dir+"/tmp", p.ContainerdSocket(), node.Dir+"/opt", PauseImage, cniPlugins,
		p.CNIConfig(), p.ContainerdState()+"/runc", node.Dir+"/image-verifiers")
}

// CNI is the pod network of a node. Each pod is routed by itself (ptp) instead of sharing a bridge, so that an answer from
// a pod on the same node passes the node's address translation too and Services work without bridge filtering.
func CNI(c plan.Cluster, node plan.Node) ([]byte, error) {
	var ranges, routes []any
	for i, everywhere := range c.Everywhere() {
		ranges = append(ranges, []any{map[string]any{"subnet": node.PodRanges[i]}})
		routes = append(routes, map[string]any{"dst": everywhere})
	}
	return json.MarshalIndent(map[string]any{
		"cniVersion": "1.0.0",
		"name":       Network(c),
		"plugins": []any{map[string]any{
			"type":   "ptp",
			"ipMasq": false,
			"ipam": map[string]any{
				"type":    "host-local",
				"dataDir": PathsOf(node).CNIState(),
				"ranges":  ranges,
				"routes":  routes,
			},
		}},
	}, "", "  ")
}

// NodeFiles are the certificates that a node's kubelet needs.
type NodeFiles struct{ ClientCA, ServerCert, ServerKey string }

// Kubelet is a kubelet's configuration. Eviction and image removal are off: the nodes share one disk, which is not theirs.
func Kubelet(c plan.Cluster, node plan.Node, files NodeFiles) []byte {
	p := PathsOf(node)
	return fmt.Appendf(nil, `apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
authentication:
  anonymous: {enabled: false}
  webhook: {enabled: true}
  x509: {clientCAFile: %[1]q}
authorization: {mode: Webhook}
tlsCertFile: %[2]q
tlsPrivateKeyFile: %[3]q
containerRuntimeEndpoint: "unix://%[4]s"
cgroupDriver: cgroupfs
cgroupRoot: %[5]q
failCgroupV1: false
failSwapOn: false
enforceNodeAllocatable: [pods]
clusterDomain: %[9]s
clusterDNS: [%[6]q]
resolvConf: ""
podLogsDir: %[7]q
volumePluginDir: %[8]q
registerNode: true
readOnlyPort: 0
makeIPTablesUtilChains: false
serializeImagePulls: false
imageGCHighThresholdPercent: 100
imageGCLowThresholdPercent: 99
evictionHard:
  memory.available: "0%%"
  nodefs.available: "0%%"
  nodefs.inodesFree: "0%%"
  imagefs.available: "0%%"
  imagefs.inodesFree: "0%%"
`, files.ClientCA, files.ServerCert, files.ServerKey, p.ContainerdSocket(), node.Cgroup, c.DNSService(), p.Logs(),
		p.Kubelet()+"/volume-plugins", c.Domain)
}

// Proxy is kube-proxy's configuration. The conntrack limits belong to the machine and cannot be set from a network
// namespace.
func Proxy(c plan.Cluster, node plan.Node, kubeconfig string) []byte {
	return fmt.Appendf(nil, `apiVersion: kubeproxy.config.k8s.io/v1alpha1
kind: KubeProxyConfiguration
mode: nftables
hostnameOverride: %q
clusterCIDR: %q
clientConnection: {kubeconfig: %q}
conntrack: {maxPerCore: 0, min: 0}
nodePortAddresses: [primary]
`, node.Name, strings.Join(c.PodRanges(), ","), kubeconfig)
}

// PolicyArgs is the command line of a node's enforcer of network policies.
func PolicyArgs(c plan.Cluster, node plan.Node, binary, kubeconfig string) []string {
	args := []string{
		binary,
		"--kubeconfig=" + kubeconfig,
		"--hostname-override=" + node.Name,
		"--service-cluster-ip-range=" + strings.Join(c.ServiceRanges(), ","),
	}
	if !c.HasIPv4() {
		args = append(args, "--enable-ipv4=false")
	}
	if c.HasIPv6() {
		args = append(args, "--enable-ipv6=true")
	}
	return args
}

// Restore is an ip6tables-restore for the enforcer of network policies, which makes the sets of IPv6 with a prefix before their names and leaves
// it out in the rules.
func Restore(program string) []byte {
	return fmt.Appendf(nil, "#!/bin/sh\nsed 's/--match-set KUBE-/--match-set inet6:KUBE-/g' | %q \"$@\"\n", program)
}
