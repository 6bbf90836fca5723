// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

// Package failover owns the subresource "failover" of Valkeys and ValkeySentinels, and FailoverRequests: check on a fresh look, claim,
// act, answer; how a primary is changed is package operation's.
package failover
