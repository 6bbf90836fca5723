// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

// Package node owns the life of one data server, from the look around before it starts to the hand-over before it ends; whom
// it follows is decided in package decision, and who is primary afterwards is none of its business.
package node
