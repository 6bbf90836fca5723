// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

// Package valkeytest starts real Valkey servers and Sentinels on loopback for tests and ends them with the
// test; it must never skip: a missing binary fails the test.
package valkeytest
