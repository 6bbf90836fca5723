// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

// Package bench owns the comparison of our API server with a CustomResourceDefinition of the same schema, on one kube-apiserver; it
// must not hold tests of behaviour.
package bench
