// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

// Package record owns what an agent remembers of its server beside the data: its role and where in the history of replication
// it stood; it is a tie-breaker, and must not be taken for an authority.
package record
