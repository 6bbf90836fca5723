// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

// Package valkeynode owns the loop that looks at a ValkeyNode, carries out what its plan says and reports; it must decide nothing itself, and
// nothing about replication at all.
package valkeynode
