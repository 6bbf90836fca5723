// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

// Package tunnel owns connections into pods through the cluster's API server, as kubectl port-forward makes them; it listens nowhere, so that
// nobody else on the machine can use what somebody has logged in to.
package tunnel
