// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

// Package settings owns what an application must be told to connect to a Valkey, and how each client library is told; it connects to nothing.
package settings
