// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

// Package registrytest owns the real etcd that storage tests run on; only tests may use it.
package registrytest
