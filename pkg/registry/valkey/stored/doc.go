// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

// Package stored owns reading the group's objects for live subresources, in the served version that the shared packages speak;
// it must not write.
package stored
