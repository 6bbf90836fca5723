// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package desired

import (
	"strconv"

	corev1 "k8s.io/api/core/v1"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"

	"github.com/valkeykube/valkeykube/pkg/apis/valkey/v1alpha1"
	"github.com/valkeykube/valkeykube/pkg/boot"
	"github.com/valkeykube/valkeykube/pkg/naming"
	"github.com/valkeykube/valkeykube/pkg/valkeyconf"
)

// maxMemoryPercent of the memory limit is maxmemory where it is not set: the rest is for replication buffers, fragmentation, and the copy
// that a snapshot makes of what is written meanwhile.
const maxMemoryPercent = 75

// replicaPingSeconds is how often a primary is heard of by its replicas in mode Operator, where that tells whether it is alive.
const replicaPingSeconds = "2"

// ValkeySettings are the directives of a Valkey's servers besides those that the agent adds: the user's, and where they say nothing the
// product's. Keys that the product owns are left out (v1alpha1.ValkeyWarnings tells).
func ValkeySettings(valkey *v1alpha1.Valkey) map[string]string {
	settings := map[string]string{}
	if limit, limited := valkey.Spec.Resources.Limits[corev1.ResourceMemory]; limited && limit.Value() > 0 {
		settings["maxmemory"] = strconv.FormatInt(limit.Value()*maxMemoryPercent/100, 10)
	}
	if valkey.Spec.Failover.Mode == v1alpha1.FailoverModeOperator && valkey.Spec.Replicas > 0 {
		settings["repl-ping-replica-period"] = replicaPingSeconds
	}
	accepted, _ := valkeyconf.NodeSettings(valkey.Spec.Config)
	for _, directive := range accepted {
		for ours := range settings {
			if valkeyconf.Canonical(ours) == valkeyconf.Canonical(directive.Name) {
				delete(settings, ours)
			}
		}
		settings[directive.Name] = directive.Value()
	}
	return settings
}

// ValkeyBoot is what the agents of a Valkey's nodes must know.
type ValkeyBoot struct {
	// Nodes by index.
	Nodes []string
	// Sentinels of the set that monitors; nil while none does.
	Sentinels *v1alpha1.ValkeySentinel
	// Primary is the node that was primary last; empty before there was one.
	Primary string
	DNS     boot.DNS
}

// ValkeyConfigMap holds the boot settings and the configuration of a Valkey's servers. It fails only where a directive cannot be written,
// which the API refuses.
func ValkeyConfigMap(valkey *v1alpha1.Valkey, in ValkeyBoot) (*corev1ac.ConfigMapApplyConfiguration, error) {
	settings := boot.Node{
		Namespace:  valkey.Namespace,
		Valkey:     valkey.Name,
		Mode:       string(valkey.Spec.Failover.Mode),
		Primary:    in.Primary,
		Persistent: valkey.Spec.Persistence != nil,
		TLS:        valkeyBootTLS(valkey.Spec.Networking.TLS),
		DNS:        in.DNS,
	}
	for _, node := range in.Nodes {
		settings.Members = append(settings.Members, boot.Endpoint{
			Name: node, Host: naming.NodeHost(node, valkey.Namespace, in.DNS.ClusterDomain), Port: naming.PortValkey})
	}
	if in.Sentinels != nil {
		settings.MonitorName = v1alpha1.EffectiveMonitorName(valkey)
		settings.Sentinels = SentinelEndpoints(in.Sentinels, in.DNS.ClusterDomain)
	}
	text, err := boot.Encode(settings)
	if err != nil {
		return nil, err
	}
	own, _ := valkeyconf.NodeSettings(ValkeySettings(valkey))
	config, err := ServerConfig(valkey.Spec.Persistence, own).Render()
	if err != nil {
		return nil, err
	}
	return corev1ac.ConfigMap(naming.ServerConfigMap(valkey.Name), valkey.Namespace).
		WithLabels(naming.ValkeyLabels(valkey.Name)).
		WithOwnerReferences(OwnerReference(KindValkey, valkey)).
		WithData(map[string]string{naming.KeyBoot: text, naming.KeyServerConfig: config}), nil
}

// SentinelEndpoints are the Sentinels that a set asks for, by index.
func SentinelEndpoints(set *v1alpha1.ValkeySentinel, clusterDomain string) []boot.Endpoint {
	endpoints := make([]boot.Endpoint, 0, set.Spec.Replicas)
	for i := range int(set.Spec.Replicas) {
		endpoints = append(endpoints, boot.Endpoint{
			Name: naming.SentinelPod(set.Name, i),
			Host: naming.SentinelHost(set.Name, i, set.Namespace, clusterDomain),
			Port: naming.PortSentinel,
		})
	}
	return endpoints
}
