// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

// Package servingcert owns the API server's serving certificate and the trust of the aggregator in it, from the first issue through every
// renewal; it must not depend on the API that it makes reachable, nor on any cache.
//
// Each certificate has a CA of its own, whose key is thrown away once it has signed: there is no CA key to steal. A renewal takes three
// writes, each of which leaves everything that was trusted and served before it trusted:
//
//	prepare   the new certificate is stored beside the one in use, and its CA joins the bundle
//	promote   once every kube-apiserver has had the time to learn the new bundle, the new certificate takes the place of the old one
//	trim      once every API server has had the time to serve the new certificate, the old CA leaves the bundle
package servingcert
