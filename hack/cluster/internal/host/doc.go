// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

// Package host owns the handling of namespaces, cgroups, mounts, settings and processes of the machine; it must not know what a cluster consists of.
package host
