// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build tools

// Package etcd names the etcd server that the cluster of this repository runs.
package etcd

import _ "go.etcd.io/etcd/server/v3"
