// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

// Package bench measures what users of the data notice, on a real cluster: hand-overs, rolls, and the time until a set is Ready. It judges nothing but losses.
package bench
