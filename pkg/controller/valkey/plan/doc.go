// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

// Package plan owns what is to be done about a Valkey, given one look at it: which objects, who follows whom, who may be promoted, which
// pod may be replaced, and what its status says. It must not look or act itself: no client, no clock, no randomness.
package plan
