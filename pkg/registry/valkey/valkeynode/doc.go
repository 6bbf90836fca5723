// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

// Package valkeynode owns what may be written to a ValkeyNode and how one prints; it must not reach etcd or anything live.
package valkeynode
