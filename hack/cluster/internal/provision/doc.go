// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

// Package provision owns the volumes of the default StorageClass: folders below a node's own, offered as local volumes. It must not touch a volume of another provisioner.
package provision
