// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package valkeyclient

import "errors"

// The classes of failure, for errors.Is. Callers never look at texts.
var (
	// ErrUnreachable: no connection, or it broke.
	ErrUnreachable = errors.New("unreachable")
	// ErrTimeout: connected or connecting, but no answer in time. The request may have had an effect.
	ErrTimeout = errors.New("timeout")
	// ErrTLS: the TLS handshake failed (an unknown CA, a wrong name, plaintext on the other side).
	ErrTLS = errors.New("TLS handshake failed")
	// ErrAuth: the login was refused, or is required (WRONGPASS, NOAUTH).
	ErrAuth = errors.New("authentication refused")
	// ErrPermission: logged in, but the user's ACL does not allow it (NOPERM).
	ErrPermission = errors.New("not permitted by ACL")
	// ErrTooManyClients: the server is there, and takes no more connections (maxclients).
	ErrTooManyClients = errors.New("the server has as many clients as maxclients allows")
	// ErrLoading: the server reads its dataset from disk.
	ErrLoading = errors.New("loading the dataset")
	// ErrReadOnly: a write or an action for primaries only, sent to a replica.
	ErrReadOnly = errors.New("not a primary")
	// ErrNoGoodReplica: Sentinel or server finds nobody to promote.
	ErrNoGoodReplica = errors.New("no suitable replica")
	// ErrNoQuorum: not enough Sentinels.
	ErrNoQuorum = errors.New("no quorum")
	// ErrInProgress: a failover is in flight already.
	ErrInProgress = errors.New("failover in progress")
	// ErrNoSuchMonitor: the Sentinel does not monitor that name.
	ErrNoSuchMonitor = errors.New("no such monitor")
	// ErrDuplicateMonitor: the Sentinel monitors that name already.
	ErrDuplicateMonitor = errors.New("monitor exists already")
	// ErrInvalid: the request was refused for what it contains, here or by the server.
	ErrInvalid = errors.New("invalid request")
	// ErrUnexpected: an answer that this package does not understand.
	ErrUnexpected = errors.New("unexpected answer")
	// ErrClosed: the Client was closed.
	ErrClosed = errors.New("client closed")
)
