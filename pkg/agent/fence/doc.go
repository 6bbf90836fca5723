// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

// Package fence owns the answer to one question, whether a running primary must refuse writes because it may have been cut off from
// whoever would replace it; it must not look at anything itself: no client, no clock, no file.
package fence
