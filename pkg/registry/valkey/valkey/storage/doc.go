// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

// Package storage owns the endpoints of valkeys: the store in etcd and its subresources; what may be written is decided in package valkey.
package storage
