// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

// Package install owns the copying of the agent's binary into the volume from which the other containers run it; it must not
// know what they do with it.
package install
