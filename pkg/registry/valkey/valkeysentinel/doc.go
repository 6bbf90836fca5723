// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

// Package valkeysentinel owns what may be written to a ValkeySentinel and how one prints; it must not reach etcd or anything live.
package valkeysentinel
