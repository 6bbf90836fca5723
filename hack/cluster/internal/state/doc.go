// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

// Package state owns what is written down about a cluster so that a later run can find, keep or clear it; it must not start or end anything.
package state
