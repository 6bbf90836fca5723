// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

// Package boot owns the settings that the controller leaves for the agents in ConfigMaps and Secrets; it reads and writes no file itself.
package boot
