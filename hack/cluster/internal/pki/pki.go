// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package pki

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"time"

	"github.com/valkeykube/valkeykube/hack/cluster/internal/state"
)

// validity is how long a certificate is good for. A cluster is thrown away long before.
const validity = 5 * 365 * 24 * time.Hour

// Certificate asks for a certificate of a client, a server or both.
type Certificate struct {
	// Name is the stem of the files; User and Groups are the subject.
	Name, User string
	Groups     []string
	// Hosts are the names and addresses of a server. Without any, the certificate is a client's.
	Hosts []string
}

// Store is a folder of NAME.crt and NAME.key files.
type Store struct{ dir string }

// Open returns the store in dir.
func Open(dir string) Store { return Store{dir: dir} }

// Cert is the path of a certificate.
func (s Store) Cert(name string) string { return filepath.Join(s.dir, name+".crt") }

// Key is the path of a private key.
func (s Store) Key(name string) string { return filepath.Join(s.dir, name+".key") }

// Authority makes a certificate authority, unless it is there.
func (s Store) Authority(name string) error {
	if s.has(name) {
		return nil
	}
	template := &x509.Certificate{
		Subject:               pkix.Name{CommonName: name},
		IsCA:                  true,
		BasicConstraintsValid: true,
		KeyUsage:              x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature | x509.KeyUsageCRLSign,
	}
	return s.issue(name, template, nil, nil)
}

// Issue makes a certificate signed by an authority of the store, unless it is there.
func (s Store) Issue(authority string, c Certificate) error {
	if s.has(c.Name) {
		return nil
	}
	parent, err := s.readCert(authority)
	if err != nil {
		return err
	}
	signer, err := s.readKey(authority)
	if err != nil {
		return err
	}
	template := &x509.Certificate{
		Subject:     pkix.Name{CommonName: c.User, Organization: c.Groups},
		KeyUsage:    x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	}
	if len(c.Hosts) > 0 {
		template.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}
	}
	for _, host := range c.Hosts {
		if ip := net.ParseIP(host); ip != nil {
			template.IPAddresses = append(template.IPAddresses, ip)
		} else {
			template.DNSNames = append(template.DNSNames, host)
		}
	}
	return s.issue(c.Name, template, parent, signer)
}

// KeyPair makes a bare key pair, NAME.key and NAME.pub, unless it is there.
func (s Store) KeyPair(name string) error {
	if _, err := os.Stat(s.Public(name)); err == nil {
		return nil
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return err
	}
	if err := s.writeKey(name, key); err != nil {
		return err
	}
	der, err := x509.MarshalPKIXPublicKey(key.Public())
	if err != nil {
		return err
	}
	return write(s.Public(name), "PUBLIC KEY", der, 0o644)
}

// Public is the path of a public key made by KeyPair.
func (s Store) Public(name string) string { return filepath.Join(s.dir, name+".pub") }

// has looks for the certificate, which is written after its key.
func (s Store) has(name string) bool {
	_, err := os.Stat(s.Cert(name))
	return !errors.Is(err, fs.ErrNotExist)
}

// issue makes a key and its certificate, self-signed without a parent.
func (s Store) issue(name string, template, parent *x509.Certificate, signer crypto.Signer) error {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return err
	}
	if parent == nil {
		parent, signer = template, key
	}
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 120))
	if err != nil {
		return err
	}
	template.SerialNumber = serial
	// An hour back, for a machine whose clock is set after the cluster is up.
	template.NotBefore = time.Now().Add(-time.Hour)
	template.NotAfter = time.Now().Add(validity)
	der, err := x509.CreateCertificate(rand.Reader, template, parent, key.Public(), signer)
	if err != nil {
		return fmt.Errorf("issue certificate %s: %w", name, err)
	}
	if err := s.writeKey(name, key); err != nil {
		return err
	}
	return write(s.Cert(name), "CERTIFICATE", der, 0o644)
}

func (s Store) writeKey(name string, key *ecdsa.PrivateKey) error {
	der, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		return err
	}
	return write(s.Key(name), "EC PRIVATE KEY", der, 0o600)
}

func (s Store) readCert(name string) (*x509.Certificate, error) {
	der, err := read(s.Cert(name))
	if err != nil {
		return nil, err
	}
	return x509.ParseCertificate(der)
}

func (s Store) readKey(name string) (crypto.Signer, error) {
	der, err := read(s.Key(name))
	if err != nil {
		return nil, err
	}
	return x509.ParseECPrivateKey(der)
}

func write(path, kind string, der []byte, mode os.FileMode) error {
	_, err := state.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), mode)
	return err
}

func read(path string) ([]byte, error) {
	content, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	block, _ := pem.Decode(content)
	if block == nil {
		return nil, fmt.Errorf("%s is not a PEM file", path)
	}
	return block.Bytes, nil
}
