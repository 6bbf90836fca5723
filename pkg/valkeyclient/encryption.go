// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package valkeyclient

import (
	"bufio"
	"context"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/hex"
	"errors"
	"fmt"
	"net"
	"strings"
)

// Encryption is how to speak TLS to servers. The zero value is plaintext.
type Encryption struct {
	// Config is nil for plaintext.
	Config *tls.Config
	// Revision identifies the content of Config.
	Revision string
	// Mixed: the server may still, or already, speak plaintext on that port; see Target.
	Mixed bool
}

// On is the target over this encryption.
func (e Encryption) On(target Target) Target {
	target.TLS, target.TLSRevision, target.Mixed = e.Config, e.Revision, e.Mixed
	return target
}

// ErrCertificate is the class of certificates, keys and authorities that cannot be used. The text never holds the key.
var ErrCertificate = errors.New("certificate cannot be used")

// NewEncryption makes an Encryption of PEM texts: the authorities that are believed, and a certificate with its key to show to servers that ask
// for one (both may be empty). As between servers, which do not compare names, the authority is the boundary: a certificate for another name is
// accepted (replication.c and sentinel.c verify the chain alone).
func NewEncryption(ca, certificate, key []byte) (Encryption, error) {
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(ca) {
		return Encryption{}, fmt.Errorf("%w: ca.crt holds no certificate in PEM", ErrCertificate)
	}
	config := &tls.Config{
		MinVersion:            tls.VersionTLS12,
		InsecureSkipVerify:    true, //nolint:gosec // the chain is verified below, without a name
		VerifyPeerCertificate: func(raw [][]byte, _ [][]*x509.Certificate) error { return verifyChain(roots, raw) },
	}
	if len(certificate)+len(key) > 0 {
		pair, err := tls.X509KeyPair(certificate, key)
		if err != nil {
			return Encryption{}, fmt.Errorf("%w: tls.crt and tls.key: %w", ErrCertificate, err)
		}
		if err := verifyChain(roots, pair.Certificate); err != nil {
			return Encryption{}, fmt.Errorf("%w: tls.crt by ca.crt: %w", ErrCertificate, err)
		}
		config.Certificates = []tls.Certificate{pair}
	}
	hash := sha256.New()
	for _, part := range [][]byte{ca, certificate, key} {
		_, _ = fmt.Fprintf(hash, "%d:", len(part)) // a hash takes everything
		_, _ = hash.Write(part)
	}
	return Encryption{Config: config, Revision: hex.EncodeToString(hash.Sum(nil))[:16]}, nil
}

func verifyChain(roots *x509.CertPool, raw [][]byte) error {
	var chain []*x509.Certificate
	for _, der := range raw {
		certificate, err := x509.ParseCertificate(der)
		if err != nil {
			return err
		}
		chain = append(chain, certificate)
	}
	if len(chain) == 0 {
		return errors.New("no certificate")
	}
	between := x509.NewCertPool()
	for _, certificate := range chain[1:] {
		between.AddCert(certificate)
	}
	_, err := chain[0].Verify(x509.VerifyOptions{Roots: roots, Intermediates: between, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageAny}})
	return err
}

// connect opens a connection to the target as it wants to be spoken to.
func (o Options) connect(ctx context.Context, target Target) (net.Conn, error) {
	if target.TLS != nil && target.Mixed {
		plain, err := o.dialPlaintext(ctx, target.Address)
		if err != nil || plain != nil {
			return plain, err
		}
	}
	return o.dial(ctx, target.TLS, target.Address)
}

// dialPlaintext asks on a raw connection whether the other side speaks plaintext, before anything secret is sent; nil where it does not. The
// other way round would hang: a server that waits for a line of text says nothing to the beginning of a handshake.
func (o Options) dialPlaintext(ctx context.Context, address string) (net.Conn, error) {
	raw, err := o.dial(ctx, nil, address)
	if err != nil {
		return nil, err
	}
	bounded, cancel := context.WithTimeout(ctx, o.DialTimeout)
	defer cancel()
	detach := context.AfterFunc(bounded, func() { _ = raw.Close() })
	defer detach()
	_, err = raw.Write([]byte("*1\r\n$4\r\nPING\r\n"))
	line := ""
	if err == nil {
		// Nothing comes after the one answer, so that nothing is lost with the reader.
		line, err = bufio.NewReader(raw).ReadString('\n')
	}
	if err == nil && (strings.HasPrefix(line, "+") || strings.HasPrefix(line, "-")) && detach() {
		return raw, nil
	}
	_ = raw.Close()
	if bounded.Err() != nil {
		return nil, &dialError{error: bounded.Err()}
	}
	return nil, nil
}

// ServedCertificate is what the process at the target shows in a handshake now.
func (c *Client) ServedCertificate(ctx context.Context, target Target) (*x509.Certificate, error) {
	connection, err := c.options.dial(ctx, target.TLS, target.Address)
	if err != nil {
		l := link{client: c, target: target}
		return nil, l.failure(ctx, query("HANDSHAKE"), err)
	}
	defer func() { _ = connection.Close() }()
	secured, ok := connection.(*tls.Conn)
	if !ok {
		return nil, fmt.Errorf("%w: %s: not a target over TLS", ErrInvalid, target)
	}
	return secured.ConnectionState().PeerCertificates[0], nil
}
