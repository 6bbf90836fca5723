// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

// Package snapshot owns receiving a snapshot of a Valkey and proving that it is whole; a file under the name asked for is always a whole one.
package snapshot
