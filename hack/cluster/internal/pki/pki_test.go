// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package pki

import (
	"crypto/tls"
	"crypto/x509"
	"os"
	"testing"
)

func TestCertificatesAreGoodForWhatTheyAreFor(t *testing.T) {
	s := Open(t.TempDir())
	for _, authority := range []string{"ca", "other"} {
		if err := s.Authority(authority); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []Certificate{
		{Name: "server", User: "kube-apiserver", Hosts: []string{"127.0.0.1", "kubernetes.default.svc"}},
		{Name: "client", User: "system:node:node-1", Groups: []string{"system:nodes"}},
	} {
		if err := s.Issue("ca", c); err != nil {
			t.Fatal(err)
		}
		if _, err := tls.LoadX509KeyPair(s.Cert(c.Name), s.Key(c.Name)); err != nil {
			t.Errorf("%s: %v", c.Name, err)
		}
	}
	server, client := leaf(t, s, "server"), leaf(t, s, "client")
	if client.Subject.CommonName != "system:node:node-1" || client.Subject.Organization[0] != "system:nodes" {
		t.Errorf("subject %s", client.Subject)
	}
	for name, tc := range map[string]struct {
		cert      *x509.Certificate
		authority string
		host      string
		usage     x509.ExtKeyUsage
		good      bool
	}{
		"server by address":     {server, "ca", "127.0.0.1", x509.ExtKeyUsageServerAuth, true},
		"server by name":        {server, "ca", "kubernetes.default.svc", x509.ExtKeyUsageServerAuth, true},
		"server by other name":  {server, "ca", "example.com", x509.ExtKeyUsageServerAuth, false},
		"server as a client":    {server, "ca", "", x509.ExtKeyUsageClientAuth, false},
		"client":                {client, "ca", "", x509.ExtKeyUsageClientAuth, true},
		"client as a server":    {client, "ca", "", x509.ExtKeyUsageServerAuth, false},
		"client of another one": {client, "other", "", x509.ExtKeyUsageClientAuth, false},
	} {
		t.Run(name, func(t *testing.T) {
			roots := x509.NewCertPool()
			roots.AddCert(leaf(t, s, tc.authority))
			_, err := tc.cert.Verify(x509.VerifyOptions{Roots: roots, DNSName: tc.host, KeyUsages: []x509.ExtKeyUsage{tc.usage}})
			if (err == nil) != tc.good {
				t.Errorf("verified: %v, want %v", err, tc.good)
			}
		})
	}
}

func TestNothingIsMadeTwice(t *testing.T) {
	s := Open(t.TempDir())
	all := func() {
		t.Helper()
		for _, err := range []error{s.Authority("ca"), s.KeyPair("pair"), s.Issue("ca", Certificate{Name: "c", User: "c"})} {
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	all()
	before := contents(t, s.Cert("ca"), s.Key("ca"), s.Key("pair"), s.Public("pair"), s.Cert("c"), s.Key("c"))
	all()
	for path, content := range contents(t, s.Cert("ca"), s.Key("ca"), s.Key("pair"), s.Public("pair"), s.Cert("c"), s.Key("c")) {
		if before[path] != content {
			t.Errorf("%s is another one", path)
		}
	}
}

// A run that dies after the key and before the certificate must not leave a pair that does not fit.
func TestHalfMadePairIsMadeAgain(t *testing.T) {
	s := Open(t.TempDir())
	if err := s.Authority("ca"); err != nil {
		t.Fatal(err)
	}
	if err := s.Issue("ca", Certificate{Name: "c", User: "c"}); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(s.Cert("c")); err != nil {
		t.Fatal(err)
	}
	if err := s.Issue("ca", Certificate{Name: "c", User: "c"}); err != nil {
		t.Fatal(err)
	}
	if _, err := tls.LoadX509KeyPair(s.Cert("c"), s.Key("c")); err != nil {
		t.Error(err)
	}
}

func TestKeysAreForTheOwnerOnly(t *testing.T) {
	s := Open(t.TempDir())
	if err := s.Authority("ca"); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(s.Key("ca")); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
}

func TestIssueWithoutAuthorityFails(t *testing.T) {
	if err := Open(t.TempDir()).Issue("ca", Certificate{Name: "c"}); err == nil {
		t.Error("a certificate is issued by nobody")
	}
}

func leaf(t *testing.T, s Store, name string) *x509.Certificate {
	t.Helper()
	cert, err := s.readCert(name)
	if err != nil {
		t.Fatal(err)
	}
	return cert
}

func contents(t *testing.T, paths ...string) map[string]string {
	t.Helper()
	all := map[string]string{}
	for _, path := range paths {
		content, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		all[path] = string(content)
	}
	return all
}
