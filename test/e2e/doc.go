// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

// Package e2e owns the tests on a real cluster with real kubelets, Valkeys and Sentinels; it holds no product code.
package e2e
