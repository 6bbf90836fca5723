// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package certificate

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/valkeykube/valkeykube/pkg/boot"
	"github.com/valkeykube/valkeykube/pkg/naming"
	"github.com/valkeykube/valkeykube/pkg/valkeyclient"
	"github.com/valkeykube/valkeykube/pkg/valkeyclient/valkeytest"
)

// mounted is a Secret's directory, and the authority of what is put there.
type mounted struct {
	t         *testing.T
	dir       string
	authority *valkeytest.Authority
}

func (m mounted) put(certificate, key []byte) {
	m.t.Helper()
	if err := os.MkdirAll(m.dir, 0o700); err != nil {
		m.t.Fatal(err)
	}
	for name, text := range map[string][]byte{naming.KeyCA: m.authority.PEM, naming.KeyCertificate: certificate, naming.KeyPrivateKey: key} {
		if err := os.WriteFile(filepath.Join(m.dir, name), text, 0o600); err != nil {
			m.t.Fatal(err)
		}
	}
}

func newMounted(t *testing.T) mounted {
	return mounted{t: t, dir: filepath.Join(t.TempDir(), "mounted"), authority: valkeytest.NewAuthority(t)}
}

// take takes, and checks what came of it.
func take(t *testing.T, s *Store, wantChanged bool, wantErr error) {
	t.Helper()
	changed, err := s.Take()
	if changed != wantChanged || !errors.Is(err, wantErr) {
		t.Fatalf("changed %t, %v; want %t, %v", changed, err, wantChanged, wantErr)
	}
	if err != nil && strings.Contains(err.Error(), "PRIVATE") {
		t.Errorf("the error holds the key: %v", err)
	}
}

func holds(t *testing.T, s *Store, want valkeytest.Issued) {
	t.Helper()
	files, has := s.Files()
	certificate, _ := os.ReadFile(files.Certificate)
	key, _ := os.ReadFile(files.Key)
	if !has || !bytes.Equal(certificate, want.Certificate) || !bytes.Equal(key, want.Key) {
		t.Errorf("the files are not those of %s", want.Serial)
	}
	if info, err := os.Stat(files.Key); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the key: %v, %v", info, err)
	}
}

func TestTake(t *testing.T) {
	m := newMounted(t)
	one, two, three := m.authority.Issue("a"), m.authority.Issue("b"), m.authority.Issue("c")
	s := &Store{Mounted: m.dir, Dir: filepath.Join(t.TempDir(), "kept")}
	take(t, s, false, nil)
	if _, has := s.Files(); has || s.Encryption().Config != nil {
		t.Error("there is a certificate where none is mounted")
	}
	m.put(one.Certificate, one.Key)
	take(t, s, true, nil)
	holds(t, s, one)
	take(t, s, false, nil)
	first := s.Encryption().Revision
	m.put(two.Certificate, two.Key)
	take(t, s, true, nil)
	holds(t, s, two)
	second := s.Encryption().Revision
	if second == first {
		t.Error("another certificate has the same revision")
	}

	m.put(three.Certificate, one.Key) // they do not belong together
	take(t, s, false, valkeyclient.ErrCertificate)
	take(t, s, false, nil) // what was said is not said again
	holds(t, s, two)
	restarted := &Store{Mounted: m.dir, Dir: s.Dir}
	take(t, restarted, true, valkeyclient.ErrCertificate)
	take(t, restarted, false, nil)
	holds(t, restarted, two)
	if got := restarted.Encryption().Revision; got != second {
		t.Errorf("it goes on with %s, want %s", got, second)
	}
	fresh := &Store{Mounted: m.dir, Dir: filepath.Join(t.TempDir(), "fresh")}
	take(t, fresh, false, valkeyclient.ErrCertificate)
	if fresh.Encryption().Config != nil {
		t.Error("a broken certificate is used")
	}

	if err := os.Remove(filepath.Join(m.dir, naming.KeyPrivateKey)); err != nil {
		t.Fatal(err)
	}
	take(t, s, false, os.ErrNotExist)
	m.put(three.Certificate, three.Key)
	for _, store := range []*Store{s, restarted, fresh} {
		take(t, store, true, nil)
		holds(t, store, three)
	}
	m.put(three.Certificate, one.Key)
	take(t, s, false, valkeyclient.ErrCertificate) // once more, since it was well meanwhile
}

// What cannot be written is not in use, and is tried again.
func TestTakeWithoutSpace(t *testing.T) {
	m := newMounted(t)
	one := m.authority.Issue("a")
	m.put(one.Certificate, one.Key)
	inTheWay := filepath.Join(t.TempDir(), "kept")
	if err := os.WriteFile(inTheWay, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	s := &Store{Mounted: m.dir, Dir: inTheWay}
	for range 2 {
		if changed, err := s.Take(); changed || err == nil || s.Encryption().Config != nil {
			t.Fatalf("changed %t, %v", changed, err)
		}
	}
	if err := os.Remove(inTheWay); err != nil {
		t.Fatal(err)
	}
	take(t, s, true, nil)
	holds(t, s, one)
}

func TestListening(t *testing.T) {
	m := newMounted(t)
	one := m.authority.Issue("a")
	m.put(one.Certificate, one.Key)
	with, without := &Store{Mounted: m.dir, Dir: t.TempDir()}, &Store{}
	take(t, with, true, nil)
	for name, c := range map[string]struct {
		store       *Store
		told        *boot.TLS
		port, tls   string
		hasMaterial bool
	}{
		"nothing is told":         {with, nil, "6379", "", false},
		"nothing is mounted":      {without, &boot.TLS{ClientCertificates: "no"}, "6379", "", false},
		"TLS alone":               {with, &boot.TLS{ClientCertificates: "yes", Port: 16379}, "0", "6379", true},
		"TLS beside plaintext":    {with, &boot.TLS{ClientCertificates: "no", Plaintext: true, Port: 16379}, "6379", "16379", true},
		"no port for TLS is told": {with, &boot.TLS{ClientCertificates: "no", Plaintext: true}, "6379", "", true},
	} {
		t.Run(name, func(t *testing.T) {
			config := c.store.Listening(c.told, 6379)
			value := func(name string) string {
				directive, _ := config.Last(name)
				return directive.Value()
			}
			_, hasMaterial := config.Last("tls-cert-file")
			if value("port") != c.port || value("tls-port") != c.tls || hasMaterial != c.hasMaterial {
				t.Errorf("got %v", config)
			}
		})
	}
}
