// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

// Package controller owns the tests of the whole controller process on a real kube-apiserver, with the rights that the manifests give it; it
// holds no product code.
package controller
