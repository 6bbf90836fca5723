// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

// Package live owns what all live subresources share: how failures of the network become answers, and a short memory that keeps
// callers from stampeding the servers; it must not know what is asked.
package live
