// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

// Package replication owns the subresource "replication" of Valkeys: what each member and each Sentinel says now; it must not change
// anything.
package replication
