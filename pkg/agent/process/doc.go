// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

// Package process owns the server process below the agent: starting it, passing signals on, collecting the dead, its exit
// code; it must not know what kind of server it is.
package process
