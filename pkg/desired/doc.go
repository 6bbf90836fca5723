// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

// Package desired owns what the product's children look like: it builds apply configurations from a spec and tells whether a live object
// already is as built; it must not look at a cluster, a clock or the environment, and decides nothing about replication.
package desired
