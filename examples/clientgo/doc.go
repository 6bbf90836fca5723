// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

// Package clientgo shows how a Go program uses the API with the generated clients; nothing of the product may import it.
package clientgo
