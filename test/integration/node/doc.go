// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

// Package node owns the tests of a ValkeyNode's children against a real kube-apiserver; it holds no product code.
package node
