// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

// Package operation owns the checked live verbs on a set: whether a change of the primary may be done now (pure), and doing it
// step by step, each step bounded and undone when a later one fails; it must not know Kubernetes or decide that it be done.
package operation
