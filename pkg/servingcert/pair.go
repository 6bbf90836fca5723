// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package servingcert

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"time"
)

const (
	// Lifetime of a certificate and its CA.
	Lifetime = 90 * 24 * time.Hour
	// backdate is how far a certificate is valid into the past, for clocks that are behind.
	backdate = 10 * time.Minute
)

// Pair is a serving certificate with its key, PEM.
type Pair struct {
	Certificate, Key []byte
}

// leaf is the certificate, or an error if certificate and key are not a pair. The error holds nothing of the key.
func (p Pair) leaf() (*x509.Certificate, error) {
	pair, err := tls.X509KeyPair(p.Certificate, p.Key)
	if err != nil {
		return nil, fmt.Errorf("certificate and key are not a pair: %w", err)
	}
	return x509.ParseCertificate(pair.Certificate[0])
}

// issuedAt is when issue made the certificate.
func issuedAt(certificate *x509.Certificate) time.Time { return certificate.NotBefore.Add(backdate) }

// issue makes a certificate for the hosts, and the CA that signed it. The CA's key is not kept.
func issue(hosts []string, now time.Time) (pair Pair, ca []byte, err error) {
	caKey, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return Pair{}, nil, err
	}
	caTemplate, err := template("valkey-apiserver-ca", now)
	if err != nil {
		return Pair{}, nil, err
	}
	caTemplate.IsCA, caTemplate.BasicConstraintsValid = true, true
	caTemplate.KeyUsage = x509.KeyUsageCertSign
	caDER, err := x509.CreateCertificate(rand.Reader, caTemplate, caTemplate, &caKey.PublicKey, caKey)
	if err != nil {
		return Pair{}, nil, err
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return Pair{}, nil, err
	}
	serving, err := template(hosts[0], now)
	if err != nil {
		return Pair{}, nil, err
	}
	serving.DNSNames = hosts
	serving.KeyUsage, serving.ExtKeyUsage = x509.KeyUsageDigitalSignature, []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}
	der, err := x509.CreateCertificate(rand.Reader, serving, caTemplate, &key.PublicKey, caKey)
	if err != nil {
		return Pair{}, nil, err
	}
	keyDER, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return Pair{}, nil, err
	}
	return Pair{Certificate: encode("CERTIFICATE", der), Key: encode("PRIVATE KEY", keyDER)}, encode("CERTIFICATE", caDER), nil
}

// template has a random serial, by which a CA is told from another one of the same name.
func template(name string, now time.Time) (*x509.Certificate, error) {
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 127))
	if err != nil {
		return nil, err
	}
	return &x509.Certificate{
		SerialNumber: serial,
		Subject:      pkix.Name{CommonName: name, SerialNumber: serial.Text(16)},
		NotBefore:    now.Add(-backdate),
		NotAfter:     now.Add(Lifetime),
	}, nil
}

func encode(kind string, der []byte) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der})
}

// authorities are the certificates of a bundle. What is no certificate is left out.
func authorities(bundle []byte) []*x509.Certificate {
	var found []*x509.Certificate
	for {
		var block *pem.Block
		if block, bundle = pem.Decode(bundle); block == nil {
			return found
		}
		if certificate, err := x509.ParseCertificate(block.Bytes); err == nil {
			found = append(found, certificate)
		}
	}
}

// bundleOf is the PEM of the authorities, each once.
func bundleOf(of []*x509.Certificate) []byte {
	var bundle bytes.Buffer
	seen := map[string]bool{}
	for _, authority := range of {
		if !seen[string(authority.Raw)] {
			seen[string(authority.Raw)] = true
			bundle.Write(encode("CERTIFICATE", authority.Raw))
		}
	}
	return bundle.Bytes()
}

// signerOf is the authority that signed the certificate; nil if none did.
func signerOf(certificate *x509.Certificate, among []*x509.Certificate) *x509.Certificate {
	for _, authority := range among {
		if certificate.CheckSignatureFrom(authority) == nil {
			return authority
		}
	}
	return nil
}
