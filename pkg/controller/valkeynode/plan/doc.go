// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

// Package plan owns what is to be done about a ValkeyNode, given one look at it: which objects, when its pod is replaced, what its running
// server is told, and what its status says. It must not look or act itself: no client, no clock, no randomness.
package plan
