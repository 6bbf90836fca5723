// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

// Package issuance owns looking at what cert-manager is asked for, in clusters where that may not be installed. Nothing is watched: an informer on a
// kind that does not exist would fail for as long as it does not. It decides nothing.
package issuance
