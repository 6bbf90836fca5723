// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

// Package pki owns the keys and certificates of a cluster; it must not know who uses them.
package pki
