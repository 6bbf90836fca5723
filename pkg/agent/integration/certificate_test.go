// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/valkeykube/valkeykube/pkg/agent/decision"
	"github.com/valkeykube/valkeykube/pkg/boot"
	"github.com/valkeykube/valkeykube/pkg/naming"
	"github.com/valkeykube/valkeykube/pkg/valkeyclient"
	"github.com/valkeykube/valkeykube/pkg/valkeyclient/valkeytest"
)

// mount puts what a Secret holds into the pods, each at once, as kubelet does.
func (s *set) mount(version string, secret map[string][]byte, pods ...*pod) {
	s.t.Helper()
	for _, p := range pods {
		dir := p.path("tls-" + version)
		s.must(os.MkdirAll(dir, 0o700))
		for key, text := range secret {
			s.must(os.WriteFile(filepath.Join(dir, key), text, 0o600))
		}
		s.must(os.Symlink(dir, p.path("tls-next")))
		s.must(os.Rename(p.path("tls-next"), p.path("tls")))
	}
}

// serves waits until the pod's server shows the certificate.
func (s *set) serves(p *pod, serial string) {
	s.t.Helper()
	s.eventually(p.name+" serves "+serial, func(ctx context.Context) error {
		shown, err := s.client.ServedCertificate(ctx, p.target(naming.UserOperator))
		if err == nil && shown.SerialNumber.Text(16) != serial {
			err = fmt.Errorf("it shows %s", shown.SerialNumber.Text(16))
		}
		return err
	})
}

// logged waits until the pod has said it, since it had said so many bytes.
func (s *set) logged(p *pod, since int, text string) {
	s.t.Helper()
	s.eventually(p.name+" says "+text, func(context.Context) error {
		if !strings.Contains(p.log()[since:], text) {
			return errors.New("not yet")
		}
		return nil
	})
}

const notUsed = "the mounted certificate is not used"

// A server takes a certificate that changes without a restart, and keeps the one it has when what is mounted is broken, also when its container
// is restarted meanwhile. One that never had a certificate that can be used does not start: in plaintext it would be alone.
func TestCertificateThatChanges(t *testing.T) {
	t.Parallel()
	valkeytest.Each(t, func(t *testing.T, binary valkeytest.Binary) {
		s := newSet(t, options{
			mode: decision.ModeNone, replicas: 1, config: withoutPersistence, binary: binary, tls: &boot.TLS{ClientCertificates: "yes"},
			flags: []string{"--certificate-every", "100ms"},
		})
		authority := valkeytest.NewAuthority(t)
		first, second, third := authority.Issue("a"), authority.Issue("b"), authority.Issue("c")
		secret := func(certificate, key []byte) map[string][]byte {
			return map[string][]byte{naming.KeyCA: authority.PEM, naming.KeyCertificate: certificate, naming.KeyPrivateKey: key}
		}
		var err error
		s.encryption, err = valkeyclient.NewEncryption(authority.PEM, first.Certificate, first.Key)
		s.must(err)
		s.mount("1", secret(first.Certificate, first.Key), s.nodes...)
		s.startAll(s.nodes)
		primary, replica := s.nodes[0], s.nodes[1]
		s.awaitWhole(primary, replica)
		s.setHint(primary)
		s.allServe(first.Serial)
		plain := primary.target(naming.UserOperator)
		plain.TLS, plain.TLSRevision = nil, ""
		node, err := s.client.Node(plain)
		s.must(err)
		if err := node.Ping(t.Context()); err == nil {
			t.Error("plaintext is answered")
		}

		s.mount("2", secret(second.Certificate, second.Key), s.nodes...)
		s.allServe(second.Serial)

		said := len(replica.log())
		s.mount("3", secret(third.Certificate, first.Key), s.nodes...)
		s.logged(replica, said, notUsed)
		s.awaitWhole(primary, replica)
		s.allServe(second.Serial)
		said = len(replica.log())
		replica.killServer()
		replica.start()
		s.logged(replica, said, notUsed)
		s.awaitWhole(primary, replica)
		s.allServe(second.Serial)

		s.mount("4", secret(third.Certificate, third.Key), s.nodes...)
		s.allServe(third.Serial)
		s.awaitWhole(primary, replica)

		replica.kill()
		replica.replace()
		s.mount("5", secret(third.Certificate, first.Key), replica)
		said = len(replica.log())
		replica.start()
		replica.awaitExit(1)
		s.logged(replica, said, "tls.crt and tls.key")
		for _, p := range s.nodes {
			if strings.Contains(p.log(), "PRIVATE") {
				t.Errorf("%s has logged a key", p.name)
			}
		}
	})
}

// I4: the authority changes, with a bundle of the old and the new one between. New links come about in every step, whichever node is ahead.
func TestAuthorityThatChanges(t *testing.T) {
	t.Parallel()
	valkeytest.Each(t, func(t *testing.T, binary valkeytest.Binary) {
		for _, isPrimaryAhead := range []bool{true, false} {
			t.Run(fmt.Sprintf("primary ahead %t", isPrimaryAhead), func(t *testing.T) {
				s := newSet(t, options{
					mode: decision.ModeNone, replicas: 1, config: withoutPersistence, binary: binary, tls: &boot.TLS{ClientCertificates: "yes"},
					flags: []string{"--certificate-every", "100ms"},
				})
				before, after := valkeytest.NewAuthority(t), valkeytest.NewAuthority(t)
				old, renewed := before.Issue("a"), after.Issue("a")
				bundle := slices.Concat(before.PEM, after.PEM)
				s.trust(bundle, old)
				s.mount("1", secretOf(before.PEM, old), s.nodes...)
				s.startAll(s.nodes)
				s.awaitWhole(s.nodes[0], s.nodes[1])
				s.setHint(s.nodes[0])

				order := slices.Clone(s.nodes)
				if !isPrimaryAhead {
					slices.Reverse(order)
				}
				for _, step := range []struct {
					version string
					secret  map[string][]byte
				}{{"2", secretOf(bundle, old)}, {"3", secretOf(bundle, renewed)}, {"4", secretOf(after.PEM, renewed)}} {
					if step.version == "4" {
						s.trust(bundle, renewed)
					}
					for _, p := range order {
						said := len(p.log())
						s.mount(step.version, step.secret, p)
						s.logged(p, said, "the server serves the new certificate")
						s.linkAnew()
					}
				}
				s.allServe(renewed.Serial)
			})
		}
	})
}

func secretOf(authority []byte, issued valkeytest.Issued) map[string][]byte {
	return map[string][]byte{naming.KeyCA: authority, naming.KeyCertificate: issued.Certificate, naming.KeyPrivateKey: issued.Key}
}

// trust has the test believe the authorities, and show a certificate.
func (s *set) trust(authorities []byte, issued valkeytest.Issued) {
	s.t.Helper()
	var err error
	s.encryption, err = valkeyclient.NewEncryption(authorities, issued.Certificate, issued.Key)
	s.must(err)
}

// linkAnew breaks the link of the replica, and waits for the next one.
func (s *set) linkAnew() {
	s.t.Helper()
	primary, err := s.client.Node(s.nodes[0].target(adminUser))
	s.must(err)
	if links, err := primary.ClientKillUser(s.t.Context(), naming.UserReplication); err != nil || links == 0 {
		s.t.Fatalf("%d links are broken: %v", links, err)
	}
	s.awaitWhole(s.nodes[0], s.nodes[1])
}

func (s *set) allServe(serial string) {
	s.t.Helper()
	for _, p := range s.nodes {
		s.serves(p, serial)
	}
}
