// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

// Package metrics tells Prometheus what the status of each instance says, at the time it asks. It looks at nothing but the objects, and
// changes nothing.
package metrics
