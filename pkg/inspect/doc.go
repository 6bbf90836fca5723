// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

// Package inspect owns looking at a set: it asks data members and Sentinels, in parallel and within bounds, and returns what
// they said as a topology.Snapshot; it draws no conclusion and changes nothing.
package inspect
