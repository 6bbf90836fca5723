// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

// Package issuance owns the tests of what is asked of cert-manager against a real kube-apiserver, which has the kind Certificate at times; it holds
// no product code.
package issuance
