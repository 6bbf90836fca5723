// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

// Package openapi owns the generated OpenAPI definitions of the served types; nothing in it is written by hand.
package openapi
