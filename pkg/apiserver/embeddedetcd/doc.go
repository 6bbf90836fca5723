// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

// Package embeddedetcd owns the etcd that runs inside the API server when none is named; it must not know what is stored.
package embeddedetcd
