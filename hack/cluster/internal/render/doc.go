// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

// Package render owns the contents of the configuration files and command lines of a cluster's daemons; it must not read or write any.
package render
