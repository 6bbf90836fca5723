// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

// Package bundle owns what is given to a maintainer for support: collecting it, and leaving out what is secret. It never reads a Secret.
package bundle
