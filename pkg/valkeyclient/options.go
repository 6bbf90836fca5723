// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package valkeyclient

import "time"

// Options configures a Client. The zero value is usable.
type Options struct {
	// Dialer opens raw connections. Default: the net package's, with TCP keep-alive.
	Dialer Dialer
	// ClientName is shown by CLIENT LIST, for audit.
	ClientName string
	// CallTimeout caps every call. Default 2 s.
	CallTimeout time.Duration
	// DialTimeout caps connecting, TLS and login included. Default 1 s.
	DialTimeout time.Duration
	// IdleTimeout closes connections that were not used for so long. Default 5 min.
	IdleTimeout time.Duration
}
