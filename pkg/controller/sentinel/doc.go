// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

// Package sentinel owns the loop that looks at a ValkeySentinel, carries out what its plan says and reports; it must decide nothing itself.
package sentinel
