// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

// Package view owns how a look at a set is told in the API: topology.Snapshot in, v1alpha1 out, the same words in a status and in a
// live answer; it must not look at anything itself and draws no conclusion of its own.
package view
