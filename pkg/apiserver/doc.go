// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

// Package apiserver owns the generic server's configuration for the group valkey.io and its one table of routes; it must not
// read flags, and knows no controller.
package apiserver
