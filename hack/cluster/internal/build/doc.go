// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

// Package build owns the cache: it downloads and compiles everything a cluster is made of, once, and must not start any of it.
package build
