// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

// Package resource owns what the registries of all kinds share (base strategy, names, store, status and scale endpoints,
// tables); it must not know a kind.
package resource
