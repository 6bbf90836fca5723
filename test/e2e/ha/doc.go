// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

// Package ha owns the end-to-end tests of the highly available installation: several API servers on an etcd of several members; it holds no
// product code.
package ha
