// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

// Package credential owns where the passwords of a Valkey's users and its certificate are, and reading them as far as the caller may; it never prints one.
package credential
