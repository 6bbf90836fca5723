// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package valkeyclient_test

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/valkeykube/valkeykube/pkg/valkeyclient"
	"github.com/valkeykube/valkeykube/pkg/valkeyclient/valkeytest"
	"github.com/valkeykube/valkeykube/pkg/valkeyconf"
)

// encrypted is a server with a certificate, whose files are its own.
type encrypted struct {
	*valkeytest.Process
	authority *valkeytest.Authority
	issued    valkeytest.Issued
	files     valkeyconf.Certificates
}

func startEncrypted(t *testing.T, binary valkeytest.Binary, listening valkeyconf.Listening) encrypted {
	t.Helper()
	e := encrypted{authority: valkeytest.NewAuthority(t), files: valkeyconf.CertificatesIn(t.TempDir())}
	e.issue(t)
	listening.Port = valkeytest.FreePort(t)
	var lines []string
	config, err := append(e.files.Config(), listening.Config()...).Render()
	if err != nil {
		t.Fatal(err)
	}
	lines = append(lines, strings.Split(strings.TrimSpace(config), "\n")...)
	e.Process = valkeytest.StartServer(t, valkeytest.Options{Binary: binary, Config: lines, Port: listening.Port, Encryption: e.encryption(t, true)})
	return e
}

func (e *encrypted) issue(t *testing.T) {
	t.Helper()
	e.issued = e.authority.Issue("anything")
	for path, text := range map[string][]byte{e.files.CA: e.authority.PEM, e.files.Certificate: e.issued.Certificate, e.files.Key: e.issued.Key} {
		if err := os.WriteFile(path, text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

func (e *encrypted) encryption(t *testing.T, mixed bool) valkeyclient.Encryption {
	t.Helper()
	made, err := valkeyclient.NewEncryption(e.authority.PEM, e.issued.Certificate, e.issued.Key)
	if err != nil {
		t.Fatal(err)
	}
	made.Mixed = mixed
	return made
}

func (e *encrypted) reach(t *testing.T, encryption valkeyclient.Encryption) error {
	t.Helper()
	node, err := valkeytest.NewClient(t).Node(encryption.On(e.Target()))
	if err != nil {
		t.Fatal(err)
	}
	return node.Ping(t.Context())
}

// A running server is moved from plaintext to TLS on the same port and back; who may meet either reaches it all the time, who insists on TLS only
// when there is nothing else.
func TestServerMovesToTLSAndBack(t *testing.T) {
	valkeytest.Each(t, func(t *testing.T, binary valkeytest.Binary) {
		e := startEncrypted(t, binary, valkeyconf.Listening{TLSPort: valkeytest.FreePort(t), ClientCertificates: "no"})
		beside := valkeyconf.Listening{Port: e.Address.Port, TLSPort: valkeytest.FreePort(t), ClientCertificates: "no"}
		alone := valkeyconf.Listening{Port: e.Address.Port, Encrypted: true, ClientCertificates: "yes"}
		either, insists := e.encryption(t, true), e.encryption(t, false)
		open, err := valkeytest.NewClient(t).Node(either.On(e.Target()))
		if err != nil {
			t.Fatal(err)
		}
		for _, step := range []struct {
			listening valkeyconf.Listening
			want      valkeyclient.Listeners
			tls       bool
		}{
			{beside, valkeyclient.Listeners{Plaintext: beside.Port, TLS: beside.TLSPort}, false},
			{alone, valkeyclient.Listeners{TLS: alone.Port}, true},
			{alone, valkeyclient.Listeners{TLS: alone.Port}, true},
			{beside, valkeyclient.Listeners{Plaintext: beside.Port, TLS: beside.TLSPort}, false},
		} {
			var settings []valkeyclient.Setting
			for _, d := range append(e.files.Config(), step.listening.Config()...) {
				settings = append(settings, valkeyclient.Setting{Key: d.Name, Value: d.Value()})
			}
			if err := open.ConfigSet(t.Context(), settings...); err != nil {
				t.Fatal(err)
			}
			status, err := open.Status(t.Context()) // on the connection that was open before
			if err != nil || status.Listeners != step.want {
				t.Fatalf("listens on %+v (%v), want %+v", status.Listeners, err, step.want)
			}
			if err := e.reach(t, either); err != nil {
				t.Errorf("not reached by who takes either: %v", err)
			}
			if err := e.reach(t, insists); (err == nil) != step.tls {
				t.Errorf("reached by who insists on TLS: %v, want TLS: %t", err, step.tls)
			}
			if err := e.reach(t, valkeyclient.Encryption{}); (err == nil) == step.tls {
				t.Errorf("reached in plaintext: %v, want TLS alone: %t", err, step.tls)
			}
		}
	})
}

func TestCertificateIsChecked(t *testing.T) {
	valkeytest.Each(t, func(t *testing.T, binary valkeytest.Binary) {
		e := startEncrypted(t, binary, valkeyconf.Listening{Encrypted: true, ClientCertificates: "yes"})
		if err := e.reach(t, e.encryption(t, false)); err != nil {
			t.Fatal(err)
		}
		other, err := valkeyclient.NewEncryption(valkeytest.NewAuthority(t).PEM, nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		if err := e.reach(t, other); !errors.Is(err, valkeyclient.ErrTLS) {
			t.Errorf("another authority's certificate was taken: %v", err)
		}
		client := valkeytest.NewClient(t)
		target := e.encryption(t, false).On(e.Target())
		before, err := client.ServedCertificate(t.Context(), target)
		if err != nil || before.SerialNumber.Text(16) != e.issued.Serial {
			t.Fatalf("shows %v (%v), want %s", before, err, e.issued.Serial)
		}
		e.issue(t)
		node, err := client.Node(target)
		if err != nil {
			t.Fatal(err)
		}
		var settings []valkeyclient.Setting
		for _, d := range e.files.Config() {
			settings = append(settings, valkeyclient.Setting{Key: d.Name, Value: d.Value()})
		}
		if err := node.ConfigSet(t.Context(), settings...); err != nil {
			t.Fatal(err)
		}
		after, err := client.ServedCertificate(t.Context(), target)
		if err != nil || after.SerialNumber.Text(16) != e.issued.Serial {
			t.Fatalf("shows %v (%v), want the new %s", after, err, e.issued.Serial)
		}
	})
}

func TestUnusableCertificates(t *testing.T) {
	authority, other := valkeytest.NewAuthority(t), valkeytest.NewAuthority(t)
	one, two := authority.Issue("a"), authority.Issue("b")
	for name, parts := range map[string][3][]byte{
		"no authority":             {[]byte("nonsense"), one.Certificate, one.Key},
		"the key of another":       {authority.PEM, one.Certificate, two.Key},
		"of another authority":     {other.PEM, one.Certificate, one.Key},
		"a certificate and no key": {authority.PEM, one.Certificate, nil},
	} {
		_, err := valkeyclient.NewEncryption(parts[0], parts[1], parts[2])
		if !errors.Is(err, valkeyclient.ErrCertificate) || strings.Contains(fmt.Sprint(err), "PRIVATE") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := valkeyclient.NewEncryption(authority.PEM, one.Certificate, one.Key); err != nil {
		t.Error(err)
	}
}
