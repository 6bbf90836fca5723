// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package etcdcert

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"time"
)

const (
	caLifetime   = 10 * 365 * 24 * time.Hour
	leafLifetime = 90 * 24 * time.Hour
	// backdate is how far a certificate is valid into the past, for clocks that are behind.
	backdate = 10 * time.Minute
)

// pair is a certificate with its key, PEM.
type pair struct {
	certificate, key []byte
}

// leaf is a certificate to be signed.
type leaf struct {
	commonName string
	hosts      []string
	usage      []x509.ExtKeyUsage
}

func (p pair) parse() (*x509.Certificate, crypto.Signer, error) {
	both, err := tls.X509KeyPair(p.certificate, p.key)
	if err != nil {
		return nil, nil, fmt.Errorf("certificate and key are not a pair: %w", err)
	}
	certificate, err := x509.ParseCertificate(both.Certificate[0])
	if err != nil {
		return nil, nil, err
	}
	signer, isSigner := both.PrivateKey.(crypto.Signer)
	if !isSigner {
		return nil, nil, errors.New("the key cannot sign")
	}
	return certificate, signer, nil
}

// newCA is a CA that signs itself.
func newCA(now time.Time) (pair, error) {
	template := &x509.Certificate{
		Subject: pkix.Name{CommonName: "valkey-etcd-ca"}, NotBefore: now.Add(-backdate), NotAfter: now.Add(caLifetime),
		IsCA: true, BasicConstraintsValid: true, MaxPathLenZero: true, KeyUsage: x509.KeyUsageCertSign,
	}
	return sign(template, nil, nil)
}

// issue is a certificate of the CA.
func (l leaf) issue(ca pair, now time.Time) (pair, error) {
	parent, signer, err := ca.parse()
	if err != nil {
		return pair{}, fmt.Errorf("CA: %w", err)
	}
	template := &x509.Certificate{
		Subject: pkix.Name{CommonName: l.commonName}, NotBefore: now.Add(-backdate), NotAfter: now.Add(leafLifetime),
		DNSNames: l.hosts, KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: l.usage,
	}
	return sign(template, parent, signer)
}

// sign makes a key and its certificate; without a parent the certificate is signed by itself.
func sign(template, parent *x509.Certificate, signer crypto.Signer) (pair, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return pair{}, err
	}
	if template.SerialNumber, err = rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 127)); err != nil {
		return pair{}, err
	}
	if parent == nil {
		parent, signer = template, key
	}
	der, err := x509.CreateCertificate(rand.Reader, template, parent, key.Public(), signer)
	if err != nil {
		return pair{}, err
	}
	keyDER, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return pair{}, err
	}
	return pair{
		certificate: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}),
		key:         pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: keyDER}),
	}, nil
}

// isGood is whether the certificate is of the CA, for the leaf's hosts, and in the first two thirds of its life.
func (l leaf) isGood(have, ca pair, now time.Time) bool {
	certificate, _, err := have.parse()
	if err != nil {
		return false
	}
	parent, _, err := ca.parse()
	if err != nil || certificate.CheckSignatureFrom(parent) != nil || certificate.Subject.CommonName != l.commonName {
		return false
	}
	for _, host := range l.hosts {
		if certificate.VerifyHostname(host) != nil {
			return false
		}
	}
	issued := certificate.NotBefore.Add(backdate)
	return now.Before(issued.Add(certificate.NotAfter.Sub(issued) * 2 / 3))
}
