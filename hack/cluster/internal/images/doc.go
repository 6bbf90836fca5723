// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

// Package images owns the making of container images from files of this machine and their way into a container runtime; it must not fetch anything.
package images
