// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

// Package valkeyconf owns the text of valkey.conf, sentinel.conf and ACL files: how they are rendered and read,
// which keys are the product's own, and what its own users may do; it must not read or write files or know a client.
package valkeyconf
