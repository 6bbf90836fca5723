// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

// +k8s:deepcopy-gen=package
// +groupName=valkey.io

// Package valkey owns the internal (hub) types of the API group valkey.io, which the API server works with and which
// have the memory layout of every served version; clients and controllers use a versioned package instead.
package valkey
