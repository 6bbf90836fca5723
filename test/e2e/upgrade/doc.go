// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

// Package upgrade owns the end-to-end test of an upgrade from an earlier revision of the product, under data that must not notice; it holds no product
// code.
package upgrade
