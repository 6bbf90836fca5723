// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

// Package dataset owns what can be told of a server's data directory before the server starts: whether it holds keys, and
// from where in the history of replication; it reads headers only and changes nothing.
package dataset
