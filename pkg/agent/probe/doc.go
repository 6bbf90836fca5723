// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

// Package probe owns what an agent answers over HTTP, to the kubelet and to the other agents of its set, and how it is asked;
// it decides nothing, and nothing that it shows is secret.
package probe
