// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

// Package sentinel owns the tests of a ValkeySentinel's children against a real kube-apiserver; it holds no product code.
package sentinel
