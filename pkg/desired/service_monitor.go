// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package desired

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/valkeykube/valkeykube/pkg/apis/valkey/v1alpha1"
	"github.com/valkeykube/valkeykube/pkg/naming"
)

// ServiceMonitorKind is the Prometheus operator's.
var ServiceMonitorKind = schema.GroupVersionKind{Group: "monitoring.coreos.com", Version: "v1", Kind: "ServiceMonitor"}

// ValkeyServiceMonitor has Prometheus scrape the exporter of each node, through the Service that each has for itself; nil where the spec asks
// for none.
func ValkeyServiceMonitor(valkey *v1alpha1.Valkey) *unstructured.Unstructured {
	selector := map[string]any{
		"matchLabels":      words(map[string]string{naming.LabelValkey: valkey.Name}),
		"matchExpressions": []any{map[string]any{"key": naming.LabelNode, "operator": string(metav1.LabelSelectorOpExists)}},
	}
	return serviceMonitor(KindValkey, valkey, naming.ValkeyService(valkey.Name), &valkey.Spec.Exporter, naming.ValkeyLabels(valkey.Name), selector)
}

// SentinelServiceMonitor has Prometheus scrape the exporter of each Sentinel; nil where the spec asks for none.
func SentinelServiceMonitor(set *v1alpha1.ValkeySentinel) *unstructured.Unstructured {
	selector := map[string]any{"matchLabels": words(naming.SentinelLabels(set.Name))}
	return serviceMonitor(KindValkeySentinel, set, naming.SentinelWorkload(set.Name), &set.Spec.Exporter, naming.SentinelLabels(set.Name), selector)
}

func serviceMonitor(kind string, owner metav1.Object, name string, exporter *v1alpha1.ExporterSpec, ours map[string]string, selector map[string]any) *unstructured.Unstructured {
	if !exporter.Enabled || !exporter.ServiceMonitor.Enabled {
		return nil
	}
	// No Service lists the exporter's port: Prometheus finds it as a port of the pod behind the Service.
	endpoint := map[string]any{"targetPort": naming.PortNameExporter, "path": "/metrics"}
	if interval := exporter.ServiceMonitor.Interval; interval != "" {
		endpoint["interval"] = interval
	}
	monitor := &unstructured.Unstructured{Object: map[string]any{
		"spec": map[string]any{"selector": selector, "endpoints": []any{endpoint}},
	}}
	monitor.SetGroupVersionKind(ServiceMonitorKind)
	monitor.SetName(name)
	return childOf(monitor, kind, owner, naming.With(exporter.ServiceMonitor.Labels, ours))
}

func words(labels map[string]string) map[string]any {
	loose := make(map[string]any, len(labels))
	for key, value := range labels {
		loose[key] = value
	}
	return loose
}
