// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

// Package topology owns the pure model of what a set of data members and their Sentinels say at one moment,
// and the conclusions drawn from it (who is primary, who may take over, what is disputed); it must not look
// at anything itself: no client, no clock.
package topology
