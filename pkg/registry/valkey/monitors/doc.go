// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

// Package monitors owns the subresource "monitors" of ValkeySentinels and the resource "monitors", which is stored nowhere: what each
// Sentinel says now; it must not change anything.
package monitors
