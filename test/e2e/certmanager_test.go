//go:build e2e

// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/valkeykube/valkeykube/pkg/apis/valkey/v1alpha1"
	"github.com/valkeykube/valkeykube/pkg/naming"
	"github.com/valkeykube/valkeykube/pkg/valkeyclient/valkeytest"
	"github.com/valkeykube/valkeykube/test/e2e/framework"
)

// crdCertificates is the name of the CRD in testdata/certificates.yaml.
const crdCertificates = "certificates.cert-manager.io"

// issuer is what cert-manager would be: it fills the Secret of the Certificate that the Valkey asks for.
type issuer struct {
	*encrypted
	// extra is a name that the Certificate must have.
	extra string
}

// asked is what the Valkey asks for.
type asked struct {
	Metadata metav1.ObjectMeta
	Spec     struct {
		SecretName string
		DNSNames   []string `json:"dnsNames"`
		IssuerRef  struct{ Name, Kind, Group string }
	}
}

// A running Valkey asks cert-manager for its certificate: it waits where that is not there, moves to TLS when it is issued, takes
// the next one, and goes on when cert-manager is taken away.
// The certificate has the names that the Certificate asks for and no others, and clients compare them.
func TestCertManager(t *testing.T) {
	t.Parallel()
	e := framework.Connect(t)
	ns := e.Namespace(t, "certmanager")
	i := &issuer{encrypted: &encrypted{authority: valkeytest.NewAuthority(t), secret: naming.ValkeyCertificate("main")}}
	i.Set = e.Start(t, ns, framework.Options{Name: "main", Replicas: 1, Mode: v1alpha1.FailoverModeOperator, DownAfter: 10 * time.Second})
	i.client = e.Client(t, ns)

	i.Patch(t, `{"spec":{"networking":{"tls":{"enabled":true,"allowUnencrypted":true,"certManager":{"issuerRef":{"name":"inner"}}}}}}`)
	i.WaitCondition(t, v1alpha1.ConditionEncrypted, metav1.ConditionFalse, v1alpha1.ReasonCertManagerMissing, time.Minute)
	i.WaitCondition(t, v1alpha1.ConditionReady, metav1.ConditionTrue, "", time.Minute)
	framework.Kubectl(t, "apply", "-f", filepath.Join("testdata", "certificates.yaml"))
	t.Cleanup(func() {
		_, _ = framework.TryKubectl(t, "", "delete", "crd", crdCertificates, "--ignore-not-found", "--wait=false")
	})
	framework.Kubectl(t, "wait", "--for=condition=Established", "crd/"+crdCertificates, "--timeout=1m")

	i.asks(t)
	i.Patch(t, `{"spec":{"networking":{"tls":null}}}`)
	framework.Eventually(t, time.Minute, "the Certificate that nobody uses is gone", func() error {
		if _, err := i.certificate(t); err == nil || !strings.Contains(err.Error(), "NotFound") {
			return fmt.Errorf("it is there: %w", err)
		}
		return nil
	})
	i.Patch(t, `{"spec":{"networking":{"tls":{"enabled":true,"certManager":{"issuerRef":{"name":"inner"}}}}}}`)
	i.says(t, i.asks(t), metav1.ConditionFalse, "DoesNotExist", "Issuing certificate as Secret does not exist")
	i.WaitCondition(t, v1alpha1.ConditionEncrypted, metav1.ConditionFalse, "CertificateNotReady: Certificate valkey-main-tls is not Ready: DoesNotExist: Issuing", time.Minute)
	i.fill(t)
	i.WaitCondition(t, v1alpha1.ConditionEncrypted, metav1.ConditionTrue, v1alpha1.ReasonAsExpected, 3*time.Minute)
	i.WaitReady(t, time.Minute)
	i.namesAreRight(t)

	i.extra = "cache.example.com"
	i.Patch(t, `{"spec":{"networking":{"tls":{"certManager":{"extraDNSNames":["`+i.extra+`"]}}}}}`)
	i.WaitCondition(t, v1alpha1.ConditionEncrypted, metav1.ConditionTrue, "since it was changed", time.Minute)
	i.fill(t)
	framework.Eventually(t, newSerialWithin, "every node serves the new certificate", func() error { return i.serves(t, i.nodes(t)) })
	i.WaitCondition(t, v1alpha1.ConditionEncrypted, metav1.ConditionTrue, i.issued.Serial, time.Minute)
	i.WaitReady(t, time.Minute)

	framework.Kubectl(t, "delete", "crd", crdCertificates, "--timeout=1m")
	i.WaitCondition(t, v1alpha1.ConditionDegraded, metav1.ConditionTrue, v1alpha1.ReasonCertManagerMissing, time.Minute)
	i.WaitCondition(t, v1alpha1.ConditionEncrypted, metav1.ConditionTrue, "no kind Certificate", time.Minute)
	i.WaitCondition(t, v1alpha1.ConditionReady, metav1.ConditionTrue, "", time.Minute)
}

// certificate is what the Valkey asks for now.
func (i *issuer) certificate(t *testing.T) (*asked, error) {
	t.Helper()
	out, err := framework.TryKubectl(t, "", "get", crdCertificates, naming.ValkeyCertificate(i.Name), "-n", i.Namespace, "-o", "json")
	if err != nil {
		return nil, err
	}
	certificate := &asked{}
	return certificate, json.Unmarshal([]byte(out), certificate)
}

// asks waits until the Valkey asks for what it should.
func (i *issuer) asks(t *testing.T) *asked {
	t.Helper()
	var certificate *asked
	framework.Eventually(t, time.Minute, "the Certificate is there", func() (err error) {
		if certificate, err = i.certificate(t); err != nil {
			return err
		}
		issuer := certificate.Spec.IssuerRef
		if certificate.Spec.SecretName != i.secret || issuer.Name != "inner" || issuer.Kind != "Issuer" || issuer.Group != "cert-manager.io" ||
			len(certificate.Metadata.OwnerReferences) != 1 || i.extra != "" && !slices.Contains(certificate.Spec.DNSNames, i.extra) {
			return fmt.Errorf("it is %+v", certificate)
		}
		return nil
	})
	return certificate
}

// fill issues a certificate for the names that are asked for, and says so.
func (i *issuer) fill(t *testing.T) {
	t.Helper()
	certificate := i.asks(t)
	i.issued = i.authority.Issue(certificate.Spec.DNSNames...)
	i.store(t, i.issued.Key)
	i.says(t, certificate, metav1.ConditionTrue, "Ready", "Certificate is up to date and has not expired")
}

// says sets the condition Ready, as of what is asked for.
func (i *issuer) says(t *testing.T, certificate *asked, status metav1.ConditionStatus, reason, message string) {
	t.Helper()
	framework.Kubectl(t, "patch", crdCertificates, certificate.Metadata.Name, "-n", i.Namespace, "--subresource=status", "--type=merge", "-p", fmt.Sprintf(
		`{"status":{"conditions":[{"type":"Ready","status":%q,"reason":%q,"message":%q,"observedGeneration":%d}]}}`, status, reason, message, certificate.Metadata.Generation))
}

// nodes are the addresses of the nodes.
func (i *issuer) nodes(t *testing.T) []string {
	t.Helper()
	var addrs []string
	for _, m := range i.Get(t).Status.Members {
		addrs = append(addrs, i.Address(m.Node))
	}
	return addrs
}

// namesAreRight lets a client that compares names write through the Service, and read through the name of a node.
func (i *issuer) namesAreRight(t *testing.T) {
	t.Helper()
	trust := i.authority.PEM
	if out, err := i.client.DoTrusting(t, i.PrimaryAddress(), trust, "SET", "by", "tls"); err != nil || out != "OK" {
		t.Errorf("through the Service: %s, %v", out, err)
	}
	replica := i.Replica(t)
	framework.Eventually(t, time.Minute, "the replica has what was written", func() error {
		if out, err := i.client.DoTrusting(t, i.Address(replica), trust, "GET", "by"); err != nil || out != "tls" {
			return fmt.Errorf("%s, %w", out, err)
		}
		return nil
	})
	pod, err := i.Pod(t, replica)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := i.client.DoTrusting(t, fmt.Sprintf("%s:%d", pod.Status.PodIP, naming.PortValkey), trust, "PING"); err == nil || !strings.Contains(err.Error(), "IP SANs") {
		t.Errorf("by an address that the certificate is not for: %v", err)
	}
	if err := i.serves(t, i.nodes(t)); err != nil {
		t.Error(err)
	}
}
