// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

// Package aggregated owns the tests of the API server behind a real kube-apiserver, with the rights that the manifests give it and
// no others; it holds no product code.
package aggregated
