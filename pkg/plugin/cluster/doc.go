// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

// Package cluster owns what the plugin reads from a cluster; it changes nothing there, and prints nothing.
package cluster
