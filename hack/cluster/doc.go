// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

// Command cluster owns a real three-node Kubernetes on this machine, to try and to test the product on; it must not know anything of the product but its images.
package main
