// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

// Package valkeyclient speaks to one known Valkey server or Sentinel process at a time, with typed
// requests, replies and error classes; it must not follow failovers, discover peers, or let a type of
// the underlying client library or a secret escape.
package valkeyclient
