// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

// Package certificate keeps the certificate that a process of the pod serves: a mounted one is taken over only if it can be used, so that a
// broken one leaves what runs running. It starts and talks to no process.
package certificate
