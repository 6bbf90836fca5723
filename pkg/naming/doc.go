// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

// Package naming owns every object name, label, port, path and container name of the product; it knows no client and makes no decision.
package naming
