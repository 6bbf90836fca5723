// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package valkeyconf

import (
	"strconv"

	"github.com/valkeykube/valkeykube/pkg/naming"
)

// Certificates are the files of a process that speaks TLS.
type Certificates struct {
	Certificate, Key, CA string
}

// CertificatesIn are the files in the agent's directory.
func CertificatesIn(dir string) Certificates {
	return Certificates{Certificate: dir + "/" + naming.KeyCertificate, Key: dir + "/" + naming.KeyPrivateKey, CA: dir + "/" + naming.KeyCA}
}

// Config names the files. Set again under a running server, also by the same names, they are read again (tls.c).
func (c Certificates) Config() Config {
	return Config{D("tls-cert-file", c.Certificate), D("tls-key-file", c.Key), D("tls-ca-cert-file", c.CA)}
}

// sentinelReloads is the first version whose Sentinels can be told to read their certificate again by themselves (tls-auto-reload-interval).
const sentinelReloads = 901

// SentinelReloads tells whether a Sentinel of that version takes a new certificate without a restart. One whose version cannot be read does not.
func SentinelReloads(version string) bool {
	number, known := versionNumber(version)
	return known && number >= sentinelReloads
}

// Listening is where a server or Sentinel listens, and how it speaks to others of its kind.
type Listening struct {
	// Port is the one by which others know it.
	Port int
	// TLSPort is where TLS is served beside plaintext on Port. 0: there is no other port.
	TLSPort int
	// Encrypted: TLS is on Port, there is no plaintext, and the process itself connects by TLS.
	Encrypted bool
	// ClientCertificates is "no", "optional" or "yes". Empty where there is no TLS.
	ClientCertificates string
}

// Config is the directives, in the order in which a running server can take them: a port is freed before it is taken.
func (l Listening) Config() Config {
	port := D("port", strconv.Itoa(l.Port))
	switch {
	case l.Encrypted:
		return Config{
			D("tls-auth-clients", l.ClientCertificates), D("tls-replication", "yes"), D("port", "0"), D("tls-port", strconv.Itoa(l.Port)),
		}
	case l.TLSPort != 0:
		return Config{
			D("tls-auth-clients", l.ClientCertificates), D("tls-replication", "no"), D("tls-port", strconv.Itoa(l.TLSPort)), port,
		}
	}
	return Config{port}
}
