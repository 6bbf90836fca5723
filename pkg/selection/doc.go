// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

// Package selection owns the rule which ValkeySentinel monitors which Valkey; it must not read anything itself: no client, no clock.
package selection
