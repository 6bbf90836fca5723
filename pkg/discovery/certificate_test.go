// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package discovery

import (
	"errors"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/valkeykube/valkeykube/pkg/apis/valkey/v1alpha1"
	"github.com/valkeykube/valkeykube/pkg/valkeyclient"
	"github.com/valkeykube/valkeykube/pkg/valkeyclient/valkeytest"
)

// expire makes the next look read the Secret again.
func (c *Certificates) expire() {
	for key, known := range c.known {
		known.read = known.read.Add(-time.Minute)
		c.known[key] = known
	}
}

// A Secret that is lost or broken is told of, and what it last held goes on being spoken: servers go on with that, too.
func TestLostAndBrokenSecrets(t *testing.T) {
	authority := valkeytest.NewAuthority(t)
	one, two := authority.Issue("a"), authority.Issue("b")
	good := map[string][]byte{"ca.crt": authority.PEM, "tls.crt": one.Certificate, "tls.key": one.Key}
	broken := map[string][]byte{"ca.crt": authority.PEM, "tls.crt": one.Certificate, "tls.key": two.Key}
	tls := &v1alpha1.TLSSpec{Enabled: true, SecretName: "certs"}
	for name, c := range map[string]struct {
		before, now map[string][]byte
		class       error
		speaks      bool
	}{
		"good":                           {nil, good, nil, true},
		"lost":                           {good, nil, ErrNoCredentials, true},
		"broken":                         {good, broken, valkeyclient.ErrCertificate, true},
		"broken from the beginning":      {nil, broken, valkeyclient.ErrCertificate, true},
		"without a key":                  {good, map[string][]byte{"ca.crt": authority.PEM}, ErrNoCredentials, true},
		"lost before it was ever seen":   {nil, nil, ErrNoCredentials, false},
		"nonsense before it was usable":  {nil, map[string][]byte{"ca.crt": []byte("x"), "tls.crt": []byte("x"), "tls.key": []byte("x")}, valkeyclient.ErrCertificate, false},
		"good again after it was broken": {broken, good, nil, true},
	} {
		t.Run(name, func(t *testing.T) {
			held := secrets{}
			certificates := &Certificates{Secrets: held}
			for _, data := range []map[string][]byte{c.before, c.now} {
				delete(held, "ns/certs")
				if data != nil {
					held["ns/certs"] = data
				}
				_, _ = certificates.Of(t.Context(), "ns", "certs")
				certificates.expire()
			}
			certificate, err := certificates.Of(t.Context(), "ns", "certs")
			if !errors.Is(err, c.class) || err == nil && certificate.Serial != one.Serial {
				t.Errorf("%s, %v; want %v", certificate.Serial, err, c.class)
			}
			encryption, err := certificates.EncryptionOf(t.Context(), "ns", tls, true)
			if (encryption.Config != nil) != c.speaks || (err == nil) != c.speaks || encryption.Mixed {
				t.Errorf("speaks: %+v, %v; want %t", encryption, err, c.speaks)
			}
		})
	}
}

// Sentinels that are asked to take another Secret, which is not there yet, go on with the one they have; and those that never had one speak plaintext.
func TestSentinelsBetweenTwoSecrets(t *testing.T) {
	authority := valkeytest.NewAuthority(t)
	issued := authority.Issue("a")
	certificates := &Certificates{Secrets: secrets{"ns/certs": {"ca.crt": authority.PEM, "tls.crt": issued.Certificate, "tls.key": issued.Key}}}
	set := &v1alpha1.ValkeySentinel{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "watch"}}
	byPerson, byCertManager := &v1alpha1.TLSSpec{Enabled: true, SecretName: "certs"}, &v1alpha1.TLSSpec{Enabled: true, CertManager: &v1alpha1.CertManagerSpec{}}
	for i, step := range []struct {
		tls    *v1alpha1.TLSSpec
		speaks bool
		known  bool
	}{{byCertManager, false, false}, {byPerson, true, true}, {byCertManager, true, true}, {nil, false, true}} {
		set.Spec.Networking.TLS = step.tls
		encryption, err := certificates.SentinelEncryption(t.Context(), set)
		if (encryption.Config != nil) != step.speaks || (err == nil) != step.known || step.speaks && !encryption.Mixed {
			t.Errorf("step %d: %+v, %v", i, encryption, err)
		}
	}
}
