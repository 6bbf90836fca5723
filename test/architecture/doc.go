// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

// Package architecture owns the tests that keep the tree as docs/architecture.md describes it; it holds no product code.
package architecture
