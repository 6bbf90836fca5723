// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

// Package plan owns the names, addresses and places of a cluster, derived from its name and slot; it must not touch the machine.
package plan
