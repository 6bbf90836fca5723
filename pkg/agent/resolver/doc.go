// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

// Package resolver owns the stub DNS server on loopback in every data and Sentinel pod: it forwards, and remembers, so that
// Valkey and Sentinel, which resolve names in their main thread, do not freeze with the cluster's DNS; it must not invent an
// answer that was never given.
package resolver
