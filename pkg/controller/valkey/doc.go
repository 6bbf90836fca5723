// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

// Package valkey owns the controller of Valkeys: it looks at one, lets package plan decide, does what was decided, and reports; it decides
// nothing itself.
package valkey
