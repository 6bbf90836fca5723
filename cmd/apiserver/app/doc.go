// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

// Package app owns the flags of valkey-apiserver, what they mean, and how its parts are put together.
package app
