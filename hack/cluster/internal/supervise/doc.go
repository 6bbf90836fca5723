// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

// Package supervise owns the starting and restarting of a cluster's daemons; it must not decide which there are.
package supervise
