// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

// Package feed owns what is known of all monitors, and tells those who watch how it changes: versions, the recent past, and whom to listen
// to while somebody watches; it must not know how Sentinels are asked.
package feed
