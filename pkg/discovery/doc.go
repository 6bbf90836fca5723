// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

// Package discovery owns how objects of the API become processes to talk to (names, addresses, credentials); it reads Secrets
// through an interface and must not talk to any process.
package discovery
