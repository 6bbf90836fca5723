// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

// Package remembered owns what a controller's process remembers of each object between passes; nothing may depend on it but economy: without
// it a pass repeats what an earlier one found out.
package remembered
