// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

// Package screen owns how things look on a terminal: tables, colours, the status screen and progress; it asks nobody anything.
package screen
