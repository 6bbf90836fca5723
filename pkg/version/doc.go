// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

// Package version owns what a binary of ours says its version is; it must not be taken for the version of Kubernetes, which is that of the
// libraries.
package version
