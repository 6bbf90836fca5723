// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package naming

import "maps"

// Labels of pods and other children.
const (
	LabelName      = "app.kubernetes.io/name"
	LabelInstance  = "app.kubernetes.io/instance"
	LabelComponent = "app.kubernetes.io/component"
	LabelManagedBy = "app.kubernetes.io/managed-by"
	// LabelValkey names the Valkey that an object belongs to.
	LabelValkey = "valkey.io/valkey"
	// LabelNode names the ValkeyNode that an object belongs to.
	LabelNode = "valkey.io/node"
	// LabelSentinel names the ValkeySentinel that an object belongs to.
	LabelSentinel = "valkey.io/sentinel"
	// LabelRole is "primary" or "replica" on data pods; written by the controller as the roles change.
	LabelRole = "valkey.io/role"

	ManagedBy         = "valkey-controller"
	ComponentServer   = "server"
	ComponentSentinel = "sentinel"
)

// Annotations.
const (
	// AnnotationEncrypted on a Sentinel's pod says that it speaks TLS to servers and peers.
	AnnotationEncrypted = "valkey.io/encrypted"
	// AnnotationRevision on a workload is the revision of its pod template, as authorised by the parent.
	AnnotationRevision = "valkey.io/workload-revision"
	// AnnotationAgentImage on a pod is the agent image it was made with.
	AnnotationAgentImage = "valkey.io/agent-image"
)

// ValkeyLabels are on every child of a Valkey.
func ValkeyLabels(valkey string) map[string]string {
	return map[string]string{
		LabelName: "valkey", LabelInstance: valkey, LabelManagedBy: ManagedBy,
		LabelComponent: ComponentServer, LabelValkey: valkey,
	}
}

// ValkeySelector selects the data pods of a Valkey.
func ValkeySelector(valkey string) map[string]string {
	return map[string]string{LabelComponent: ComponentServer, LabelValkey: valkey}
}

// NodeLabels are on every child of a node; valkey is empty for a node made by hand.
func NodeLabels(valkey, node string) map[string]string {
	labels := map[string]string{
		LabelName: "valkey", LabelInstance: node, LabelManagedBy: ManagedBy,
		LabelComponent: ComponentServer, LabelNode: node,
	}
	if valkey != "" {
		labels[LabelInstance], labels[LabelValkey] = valkey, valkey
	}
	return labels
}

// NodeSelector selects the pod of a node.
func NodeSelector(node string) map[string]string {
	return map[string]string{LabelComponent: ComponentServer, LabelNode: node}
}

// SentinelLabels are on every child of a ValkeySentinel.
func SentinelLabels(sentinel string) map[string]string {
	return map[string]string{
		LabelName: "valkey-sentinel", LabelInstance: sentinel, LabelManagedBy: ManagedBy,
		LabelComponent: ComponentSentinel, LabelSentinel: sentinel,
	}
}

// SentinelSelector selects the pods of a ValkeySentinel.
func SentinelSelector(sentinel string) map[string]string {
	return map[string]string{LabelComponent: ComponentSentinel, LabelSentinel: sentinel}
}

// With is base with the labels of over laid over it.
func With(base, over map[string]string) map[string]string {
	merged := make(map[string]string, len(base)+len(over))
	maps.Copy(merged, base)
	maps.Copy(merged, over)
	return merged
}
