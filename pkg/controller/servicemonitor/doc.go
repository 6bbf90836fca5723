// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

// Package servicemonitor keeps the ServiceMonitors of Valkeys and ValkeySentinels, where the Prometheus operator's CRD exists. Nothing else
// depends on it: a cluster without the CRD, or a controller without the right, only lacks them.
package servicemonitor
