// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package certificate

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"

	"github.com/valkeykube/valkeykube/pkg/boot"
	"github.com/valkeykube/valkeykube/pkg/naming"
	"github.com/valkeykube/valkeykube/pkg/valkeyclient"
	"github.com/valkeykube/valkeykube/pkg/valkeyconf"
)

// Store takes certificates from a mounted Secret over into a directory of the pod's own, from which processes read them.
type Store struct {
	// Mounted is the Secret's directory, Dir what outlives the container, not the pod.
	Mounted, Dir string

	mu     sync.Mutex
	inUse  valkeyclient.Encryption
	failed string
}

var files = []string{naming.KeyCA, naming.KeyCertificate, naming.KeyPrivateKey}

// Files are those that a process reads, and whether there are any.
func (s *Store) Files() (valkeyconf.Certificates, bool) {
	return valkeyconf.CertificatesIn(s.Dir), s.Encryption().Config != nil
}

// Listening is how a server or Sentinel is to start that others know by the port: as it is told, if the pod has a certificate.
func (s *Store) Listening(told *boot.TLS, port int) valkeyconf.Config {
	files, has := s.Files()
	if !has || told == nil {
		return valkeyconf.Listening{Port: port}.Config()
	}
	listening := valkeyconf.Listening{Port: port, Encrypted: !told.Plaintext, ClientCertificates: told.ClientCertificates}
	if told.Plaintext {
		listening.TLSPort = told.Port
	}
	return append(files.Config(), listening.Config()...)
}

// Encryption is how to speak to processes with the same authority. The zero value where the pod has no certificate.
func (s *Store) Encryption() valkeyclient.Encryption {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.inUse
}

// Take takes over what is mounted if it is another and can be used; the files are those of one certificate then. An error is told once. Without
// a mounted Secret nothing is done, and nothing is wrong.
func (s *Store) Take() (changed bool, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, err := os.Stat(s.Mounted); errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	texts, encryption, err := load(s.Mounted)
	if err != nil {
		return s.keep(), s.once(err)
	}
	s.failed = ""
	if encryption.Revision == s.inUse.Revision {
		return false, nil
	}
	if err := s.write(texts); err != nil {
		return false, err
	}
	s.inUse = encryption
	return true, nil
}

// keep goes on with what the container before this one served, where it was restarted while what is mounted is broken.
func (s *Store) keep() (changed bool) {
	_, kept, err := load(s.Dir)
	if s.inUse.Config != nil || err != nil {
		return false
	}
	s.inUse = kept
	return true
}

func (s *Store) once(err error) error {
	if s.failed == err.Error() {
		return nil
	}
	s.failed = err.Error()
	return err
}

func (s *Store) write(texts [][]byte) error {
	if err := os.MkdirAll(s.Dir, 0o700); err != nil {
		return err
	}
	for i, key := range files {
		path := filepath.Join(s.Dir, key)
		if err := os.WriteFile(path+".new", texts[i], 0o600); err != nil {
			return err
		}
		if err := os.Rename(path+".new", path); err != nil {
			return err
		}
	}
	return nil
}

func load(dir string) ([][]byte, valkeyclient.Encryption, error) {
	texts := make([][]byte, len(files))
	for i, key := range files {
		var err error
		if texts[i], err = os.ReadFile(filepath.Join(dir, key)); err != nil {
			return nil, valkeyclient.Encryption{}, fmt.Errorf("certificate: %w", err)
		}
	}
	encryption, err := valkeyclient.NewEncryption(texts[0], texts[1], texts[2])
	return texts, encryption, err
}
