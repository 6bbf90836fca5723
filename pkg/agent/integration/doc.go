// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

// Package integration owns the tests of whole sets: real agents with real servers and Sentinels on loopback; it holds no
// product code.
package integration
