// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

// Package apiserver owns the tests of the whole API server in one process, on its embedded etcd and without a Kubernetes API
// server; it holds no product code.
package apiserver
