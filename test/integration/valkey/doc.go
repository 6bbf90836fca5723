// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

// Package valkey owns the tests of a Valkey's children against a real kube-apiserver; it holds no product code.
package valkey
