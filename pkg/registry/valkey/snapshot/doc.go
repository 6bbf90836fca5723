// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

// Package snapshot owns "proxy/snapshot" of Valkeys: the dataset as an RDB, streamed; it must not keep a dataset in memory, nor let a
// client take a part of one for the whole.
package snapshot
