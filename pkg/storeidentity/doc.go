// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

// Package storeidentity owns the guard that keeps an empty or foreign store from being served: while the store is not the one
// that is on record, the API answers 503 and never "not found". It knows nothing of what is stored.
package storeidentity
