// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

// Package valkey owns what may be written to a Valkey and how one prints; it must not reach etcd or anything live.
package valkey
