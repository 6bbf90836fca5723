// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package valkeyclient

import (
	"context"
	"crypto/tls"
	"fmt"
	"log/slog"
	"net"
	"strconv"
)

// Credentials is how to log in. Without a Password no login is attempted, and the server's default user
// applies. Neither String, Format, LogValue nor MarshalJSON shows the password.
type Credentials struct {
	// Username is the ACL user. Empty with a Password means the user "default".
	Username string
	// Password is the clear text password.
	Password string
}

// String names the user and whether there is a password, never the password.
func (c Credentials) String() string {
	if c.Username == "" && c.Password == "" {
		return "anonymous"
	}
	password := "none"
	if c.Password != "" {
		password = "set"
	}
	return fmt.Sprintf("user %q, password %s", c.Username, password)
}

// Format keeps every fmt verb, %#v included, from printing the password.
func (c Credentials) Format(state fmt.State, _ rune) { _, _ = state.Write([]byte(c.String())) }

// LogValue keeps structured logs from printing the password.
func (c Credentials) LogValue() slog.Value { return slog.StringValue(c.String()) }

// MarshalJSON keeps JSON encoders (loggers use them) from printing the password.
func (c Credentials) MarshalJSON() ([]byte, error) { return []byte(strconv.Quote(c.String())), nil }

// Target says which process to talk to and how. It is a value: two targets that are equal in Address,
// Credentials and TLS revision share connections.
type Target struct {
	// Name identifies the process to people, in errors and logs (a node's or pod's name).
	Name string
	// Address is "host:port".
	Address string
	// TLS is nil for plaintext.
	TLS *tls.Config
	// TLSRevision identifies the content of TLS (a hash of CA and certificate), so that a configuration
	// that is rebuilt for each use does not open a new connection each time. Empty: the pointer's identity.
	TLSRevision string
	// Mixed: with TLS, a server that answers in plaintext is spoken to in plaintext. Only for servers that are being moved from one to the other,
	// since the login is then only as secret as plaintext is.
	Mixed bool
	// Credentials is who to log in as.
	Credentials Credentials
}

// String is the target's name and address.
func (t Target) String() string {
	if t.Name == "" {
		return t.Address
	}
	return t.Name + " (" + t.Address + ")"
}

// Address is a host (a name or an IP) and a port, as Valkey and Sentinel report them.
type Address struct {
	Host string
	Port int
}

// IsZero tells whether there is no address.
func (a Address) IsZero() bool { return a == Address{} }

// String is "host:port", with brackets around an IPv6 host, and empty for the zero Address.
func (a Address) String() string {
	if a.IsZero() {
		return ""
	}
	return net.JoinHostPort(a.Host, strconv.Itoa(a.Port))
}

// ParseAddress is the reverse of Address.String. Port 1 to 65535.
func ParseAddress(hostport string) (Address, error) {
	host, portText, err := net.SplitHostPort(hostport)
	if err != nil {
		return Address{}, fmt.Errorf("address %q: %w", hostport, err)
	}
	port, err := strconv.Atoi(portText)
	if err != nil || port < 1 || port > 65535 {
		return Address{}, fmt.Errorf("address %q: port must be 1 to 65535", hostport)
	}
	if host == "" {
		return Address{}, fmt.Errorf("address %q: host is missing", hostport)
	}
	return Address{Host: host, Port: port}, nil
}

// Setting is one key and its value, where the order of several matters.
type Setting struct {
	Key, Value string
}

// Dialer opens the raw connection (before TLS). Tests, proxies and fixed resolvers inject their own.
type Dialer func(ctx context.Context, network, address string) (net.Conn, error)
