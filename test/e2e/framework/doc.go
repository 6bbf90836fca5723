// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

// Package framework owns how the end-to-end tests reach the cluster: clients, namespaces, waiting, node faults, and the client pod; it holds no test.
package framework
