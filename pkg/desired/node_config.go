// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package desired

import (
	"slices"

	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"

	"github.com/valkeykube/valkeykube/pkg/apis/valkey/v1alpha1"
	"github.com/valkeykube/valkeykube/pkg/boot"
	"github.com/valkeykube/valkeykube/pkg/naming"
	"github.com/valkeykube/valkeykube/pkg/valkeyconf"
)

// NodeConfigMap is the ConfigMap of a node that a person made by hand: a primary for ever, with the configuration of its spec.
// It is nil for a node that names another ConfigMap.
func NodeConfigMap(node *v1alpha1.ValkeyNode, dns boot.DNS) (*corev1ac.ConfigMapApplyConfiguration, error) {
	if node.Spec.ServerConfigMapName != "" {
		return nil, nil
	}
	settings, err := boot.Encode(boot.Node{
		Namespace: node.Namespace,
		Members: []boot.Endpoint{{
			Name: node.Name,
			Host: naming.NodeHost(node.Name, node.Namespace, dns.ClusterDomain),
			Port: naming.PortValkey,
		}},
		Persistent: node.Spec.Persistence != nil,
		TLS:        valkeyBootTLS(node.Spec.TLS),
		DNS:        dns,
	})
	if err != nil {
		return nil, err
	}
	own, _ := valkeyconf.NodeSettings(node.Spec.Config)
	config, err := ServerConfig(node.Spec.Persistence, own).Render()
	if err != nil {
		return nil, err
	}
	return corev1ac.ConfigMap(naming.NodeConfigMap(node.Name), node.Namespace).
		WithLabels(naming.NodeLabels(node.Spec.Valkey, node.Name)).
		WithOwnerReferences(OwnerReference(KindValkeyNode, node)).
		WithData(map[string]string{naming.KeyBoot: settings, naming.KeyServerConfig: config}), nil
}

// usualSave is Valkey's own, which is said because a running server that took no snapshots is told.
var usualSave = valkeyconf.D("save", "3600", "1", "300", "100", "60", "10000")

// ServerConfig is what follows from persistence, and the user's own directives, which win: a server adds up what several lines say of "save".
func ServerConfig(persistence *v1alpha1.PersistenceSpec, own valkeyconf.Config) valkeyconf.Config {
	config := slices.DeleteFunc(persistenceConfig(persistence), func(directive valkeyconf.Directive) bool {
		_, said := own.Last(directive.Name)
		return said
	})
	return append(config, own...)
}

// persistenceConfig is what the server writes to its volume. Without one, and with AOF alone, it takes no snapshots, and
// without one it keeps no file of a copy either.
func persistenceConfig(persistence *v1alpha1.PersistenceSpec) valkeyconf.Config {
	var mode v1alpha1.PersistenceMode
	if persistence != nil {
		mode = persistence.Mode
		if mode == "" {
			mode = v1alpha1.PersistenceModeAOF
		}
	}
	switch mode {
	case v1alpha1.PersistenceModeRDB:
		return valkeyconf.Config{valkeyconf.D("appendonly", "no"), usualSave}
	case v1alpha1.PersistenceModeBoth:
		return valkeyconf.Config{valkeyconf.D("appendonly", "yes"), usualSave}
	case v1alpha1.PersistenceModeAOF:
		return valkeyconf.Config{valkeyconf.D("appendonly", "yes"), valkeyconf.D("save", "")}
	default:
		// A replica copies by way of a file. If it stayed, a later start of everything would take what was in memory then for the data.
		return valkeyconf.Config{valkeyconf.D("appendonly", "no"), valkeyconf.D("save", ""), valkeyconf.D("rdb-del-sync-files", "yes")}
	}
}
