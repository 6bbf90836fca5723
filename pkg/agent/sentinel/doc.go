// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

// Package sentinel owns the life of one Sentinel: the file that it starts with, made whole again from what its peers, its
// members and the controller know, and its process; it registers nothing in a running Sentinel and takes part in no failover.
package sentinel
