// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

// Package decision owns the answer to one question, whom a data node follows when its container starts; it must not
// look at anything itself: no client, no clock, no file.
package decision
