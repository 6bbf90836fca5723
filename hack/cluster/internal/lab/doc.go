// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

// Package lab owns the bringing up, breaking, mending and removing of a cluster; it must not build anything or render any file.
package lab
