// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package naming

import (
	"crypto/sha1" //nolint:gosec // an identity, not a secret: Sentinel ids are 40 hexadecimal digits.
	"encoding/hex"
	"strconv"
	"strings"
)

// The longest names whose children are still DNS labels. A StatefulSet's name is the tightest: its pods carry the label
// controller-revision-hash with the value "<name>-<10 characters>", which must not be longer than 63.
const (
	maxStatefulSetName = 52
	// maxIndexSuffix is "-" and three digits.
	maxIndexSuffix = 4
	nodePrefix     = "valkey-"
	sentinelPrefix = "valkey-sentinel-"

	// MaxValkeyNodeName is the longest name of a ValkeyNode.
	MaxValkeyNodeName = maxStatefulSetName - len(nodePrefix)
	// MaxValkeyName is the longest name of a Valkey, whose nodes are called "<name>-<index>".
	MaxValkeyName = MaxValkeyNodeName - maxIndexSuffix
	// MaxValkeySentinelName is the longest name of a ValkeySentinel.
	MaxValkeySentinelName = maxStatefulSetName - len(sentinelPrefix)
	// MaxReplicas is the most replicas a Valkey may have, so that an index has three digits at most.
	MaxReplicas = 998
)

// Of a Valkey.

// NodeName is the name of the ValkeyNode with this index.
func NodeName(valkey string, index int) string { return valkey + "-" + strconv.Itoa(index) }

// NodeIndex is the index in the name of a Valkey's node, and whether the name is one of that Valkey's.
func NodeIndex(valkey, node string) (int, bool) {
	suffix, ok := strings.CutPrefix(node, valkey+"-")
	if !ok {
		return 0, false
	}
	index, err := strconv.Atoi(suffix)
	if err != nil || index < 0 || strconv.Itoa(index) != suffix {
		return 0, false
	}
	return index, true
}

// ValkeyService is the headless Service over all members of a Valkey.
func ValkeyService(valkey string) string { return nodePrefix + valkey }

// PrimaryService is the Service that leads to the primary; its EndpointSlice is ours.
func PrimaryService(valkey string) string { return nodePrefix + valkey + "-primary" }

// PrimaryEndpointSlice is the only EndpointSlice of the primary's Service.
func PrimaryEndpointSlice(valkey string) string { return PrimaryService(valkey) }

// ReplicasService is the Service over the replicas.
func ReplicasService(valkey string) string { return nodePrefix + valkey + "-replicas" }

// ServerConfigMap holds the boot settings and the configuration of a Valkey's servers.
func ServerConfigMap(valkey string) string { return nodePrefix + valkey }

// ValkeyPDB is the PodDisruptionBudget of a Valkey.
func ValkeyPDB(valkey string) string { return nodePrefix + valkey }

// ValkeyNetworkPolicy is the NetworkPolicy of a Valkey.
func ValkeyNetworkPolicy(valkey string) string { return nodePrefix + valkey }

// ACLSecret holds the ACL file of a Valkey's servers.
func ACLSecret(valkey string) string { return "internal-" + valkey + "-acl" }

// SystemPasswordsSecret holds the passwords of the product's own users; the keys are the users' names.
func SystemPasswordsSecret(valkey string) string { return "internal-" + valkey + "-system-passwords" }

// SystemPasswordsCopy holds the same passwords again, so that they are not lost with one Secret while servers use them.
func SystemPasswordsCopy(valkey string) string { return SystemPasswordsSecret(valkey) + "-copy" }

// ValkeyCertificate is the Certificate that cert-manager is asked for, and the Secret that it is put into.
func ValkeyCertificate(valkey string) string { return nodePrefix + valkey + "-tls" }

// APIServerRole is the Role, and RoleBinding, that lets the API server read a Valkey's system passwords.
func APIServerRole(valkey string) string { return "internal-" + valkey + "-apiserver" }

// Of a ValkeyNode.

// NodeWorkload is the StatefulSet or Deployment of a node, and its governing Service.
func NodeWorkload(node string) string { return nodePrefix + node }

// NodePod is the pod of a node that runs as a StatefulSet.
func NodePod(node string) string { return NodeWorkload(node) + "-0" }

// NodeClaim is the PersistentVolumeClaim of a node.
func NodeClaim(node string) string { return NodeWorkload(node) + "-data" }

// NodeConfigMap is the ConfigMap of a node that a person made by hand.
func NodeConfigMap(node string) string { return nodePrefix + node + "-node" }

// NodeHost is the stable host name of a node: that of its pod below its governing Service.
func NodeHost(node, namespace, clusterDomain string) string {
	return NodePod(node) + "." + NodeWorkload(node) + "." + namespace + ".svc." + clusterDomain
}

// Of a ValkeySentinel.

// SentinelWorkload is the StatefulSet, headless Service, PodDisruptionBudget and NetworkPolicy of a ValkeySentinel.
func SentinelWorkload(sentinel string) string { return sentinelPrefix + sentinel }

// SentinelPod is the Sentinel pod with this index.
func SentinelPod(sentinel string, index int) string {
	return SentinelWorkload(sentinel) + "-" + strconv.Itoa(index)
}

// SentinelHost is the stable host name of a Sentinel pod.
func SentinelHost(sentinel string, index int, namespace, clusterDomain string) string {
	return SentinelPod(sentinel, index) + "." + SentinelWorkload(sentinel) + "." + namespace + ".svc." + clusterDomain
}

// SentinelBootSecret holds the boot settings of the Sentinels: what they monitor, with credentials.
func SentinelBootSecret(sentinel string) string { return "internal-sentinel-" + sentinel + "-boot" }

// SentinelPasswordsSecret holds the passwords of the product's own users on the Sentinels.
func SentinelPasswordsSecret(sentinel string) string {
	return "internal-sentinel-" + sentinel + "-system-passwords"
}

// SentinelCertificate is the Certificate that cert-manager is asked for, and the Secret that it is put into.
func SentinelCertificate(sentinel string) string { return sentinelPrefix + sentinel + "-tls" }

// SentinelAPIServerRole is the Role, and RoleBinding, that lets the API server read a ValkeySentinel's system passwords.
func SentinelAPIServerRole(sentinel string) string {
	return "internal-sentinel-" + sentinel + "-apiserver"
}

// SentinelID is the id of a Sentinel: the same for the same pod of the same ValkeySentinel, however often it is replaced,
// so that its peers never count a ghost.
func SentinelID(setUID, pod string) string {
	sum := sha1.Sum([]byte(setUID + "/" + pod)) //nolint:gosec // see the import
	return hex.EncodeToString(sum[:])
}
