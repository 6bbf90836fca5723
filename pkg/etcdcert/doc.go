// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

// Package etcdcert owns the certificates between the API servers and an etcd of several members; it must not depend on the API that those
// serve, nor on any cache.
//
// One CA lives for ten years, because etcd reads its CA only at its start. It signs nothing but the certificate of the members and that of
// the API servers, which live for ninety days and are read again at each handshake: their renewal restarts nothing.
package etcdcert
