//go:build e2e

// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"encoding/base64"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/valkeykube/valkeykube/pkg/apis/valkey/v1alpha1"
	"github.com/valkeykube/valkeykube/pkg/naming"
	"github.com/valkeykube/valkeykube/pkg/valkeyclient/valkeytest"
	"github.com/valkeykube/valkeykube/test/e2e/framework"
)

const (
	secretTLS = "certs"
	// newSerialWithin is how long a new certificate may take until every port serves it.
	newSerialWithin = 3 * time.Minute
)

// encrypted is a monitored Valkey with a certificate.
type encrypted struct {
	*framework.Set
	client    *framework.Client
	authority *valkeytest.Authority
	// secret is the name of the Secret with the certificate that was issued last.
	secret string
	issued valkeytest.Issued
}

// A running Valkey and its Sentinels go to TLS and back; clients that moved while both were served lose no acknowledged write.
//
// It runs alone: every write of its clients is encrypted, which would slow other tests down so that they saw failovers that nobody planned.
func TestMovesToTLSAndBack(t *testing.T) {
	e := framework.Connect(t)
	ns := e.Namespace(t, "tls")
	x := &encrypted{authority: valkeytest.NewAuthority(t), secret: secretTLS}
	x.Set = &framework.Set{Env: e, Namespace: ns, Name: "main", Sentinel: "watch", Sentinels: 3}
	x.issue(t)
	x.Set = e.Start(t, ns, framework.Options{Name: "main", Replicas: 2, Mode: v1alpha1.FailoverModeSentinel, DownAfter: 5 * time.Second,
		Extra: "  networking: {networkPolicy: {enabled: true}}\n"})
	x.client = e.Client(t, ns)
	for _, step := range []struct {
		name string
		run  func(*testing.T, *encrypted)
	}{
		{"TLS beside plaintext, under clients in plaintext", besidePlaintext},
		{"TLS alone, under clients by TLS", alone},
		{"hand-over and loss of the primary", failoversOverTLS},
		{"client certificates are asked for", clientCertificates},
		{"live subresources", liveOverTLS},
		{"another certificate (I1)", anotherCertificate},
		{"a Secret that cannot be used", brokenSecret},
		{"plaintext again, and then no TLS", plaintextAgain},
	} {
		if !t.Run(step.name, func(t *testing.T) { step.run(t, x) }) {
			return
		}
	}
}

// issue puts a new certificate for all names of the instance into its Secret.
func (x *encrypted) issue(t *testing.T) {
	t.Helper()
	names := []string{naming.PrimaryService(x.Name) + "." + x.Namespace + ".svc." + x.Env.Domain,
		"*." + naming.SentinelWorkload(x.Sentinel) + "." + x.Namespace + ".svc." + x.Env.Domain}
	for node := range 3 {
		names = append(names, "*."+naming.NodeWorkload(naming.NodeName(x.Name, node))+"."+x.Namespace+".svc."+x.Env.Domain)
	}
	x.issued = x.authority.Issue(names...)
	x.store(t, x.issued.Key)
}

func (x *encrypted) store(t *testing.T, key []byte) {
	t.Helper()
	b64 := base64.StdEncoding.EncodeToString
	framework.Apply(t, x.Namespace, fmt.Sprintf("apiVersion: v1\nkind: Secret\nmetadata: {name: %s}\ndata: {tls.crt: %s, tls.key: %s, ca.crt: %s}\n",
		x.secret, b64(x.issued.Certificate), b64(key), b64(x.authority.PEM)))
}

// ask sets the TLS of both objects.
func (x *encrypted) ask(t *testing.T, tls string) {
	t.Helper()
	patch := `{"spec":{"networking":{"tls":` + tls + `}}}`
	x.Patch(t, patch)
	_, err := x.Env.Valkey.ValkeyV1alpha1().ValkeySentinels(x.Namespace).Patch(t.Context(), x.Sentinel, types.MergePatchType, []byte(patch), metav1.PatchOptions{})
	if err != nil {
		t.Fatal(err)
	}
}

// await waits until both objects say how they are encrypted, for this reason, and are well.
func (x *encrypted) await(t *testing.T, reason string) {
	t.Helper()
	framework.Eventually(t, 4*time.Minute, "Encrypted: "+reason, func() error {
		for _, conditions := range [][]metav1.Condition{x.Get(t).Status.Conditions, x.GetSentinels(t).Status.Conditions} {
			condition := meta.FindStatusCondition(conditions, v1alpha1.ConditionEncrypted)
			if reason == "" && condition == nil {
				continue
			}
			if condition == nil || condition.Reason != reason {
				return fmt.Errorf("it is %+v", condition)
			}
		}
		return nil
	})
	x.WaitReady(t, 3*time.Minute)
	x.WaitAgreed(t)
}

// byTLS is the write Service for clients that speak TLS.
func (x *encrypted) byTLS() []string {
	addr := fmt.Sprintf("%s.%s.svc.%s:%d", naming.PrimaryService(x.Name), x.Namespace, x.Env.Domain, naming.PortValkeyTLS)
	return append([]string{"-addr", addr}, framework.Trust(x.authority.PEM)...)
}

// ports are every address at which TLS is served.
func (x *encrypted) ports(server, sentinel int) []string {
	var addrs []string
	for node := range 3 {
		addrs = append(addrs, fmt.Sprintf("%s:%d", naming.NodeHost(naming.NodeName(x.Name, node), x.Namespace, x.Env.Domain), server))
		addrs = append(addrs, fmt.Sprintf("%s:%d", naming.SentinelHost(x.Sentinel, node, x.Namespace, x.Env.Domain), sentinel))
	}
	return addrs
}

// serves is an error unless every address shows the certificate that was issued last.
func (x *encrypted) serves(t *testing.T, addrs []string) error {
	t.Helper()
	for _, addr := range addrs {
		serial, err := x.client.Serial(t, addr, x.authority.PEM)
		if err != nil {
			return err
		}
		if serial != x.issued.Serial {
			return fmt.Errorf("%s serves %s, not %s", addr, serial, x.issued.Serial)
		}
	}
	return nil
}

func besidePlaintext(t *testing.T, x *encrypted) {
	x.Planned(t, x.client, "beside", []string{"-addr", x.PrimaryAddress()}, func() {
		x.ask(t, `{"enabled":true,"secretName":"`+secretTLS+`","allowUnencrypted":true}`)
		x.await(t, v1alpha1.ReasonPlaintextServed)
	})
	if err := x.serves(t, x.ports(naming.PortValkeyTLS, naming.PortSentinelTLS)); err != nil {
		t.Error(err)
	}
}

func alone(t *testing.T, x *encrypted) {
	x.Planned(t, x.client, "alone", x.byTLS(), func() {
		x.ask(t, `{"allowUnencrypted":false}`)
		x.await(t, v1alpha1.ReasonAsExpected)
	})
	if err := x.serves(t, x.ports(naming.PortValkey, naming.PortSentinel)); err != nil {
		t.Error(err)
	}
	for _, addr := range x.ports(naming.PortValkey, naming.PortSentinel) {
		if out, err := x.client.Do(t, addr, "PING"); err == nil || strings.Contains(err.Error(), "NOAUTH") {
			t.Errorf("%s answers in plaintext: %s, %v", addr, out, err)
		}
	}
	if _, err := x.client.Serial(t, x.Address(x.Primary(t)), valkeytest.NewAuthority(t).PEM); err == nil || !strings.Contains(err.Error(), "unknown authority") {
		t.Errorf("a client that believes another authority: %v", err)
	}
}

func failoversOverTLS(t *testing.T, x *encrypted) {
	route := append(x.ViaSentinel(), framework.Trust(x.authority.PEM)...)
	before := x.Primary(t)
	x.Planned(t, x.client, "handover", route, func() {
		if answer := x.Failover(t, v1alpha1.FailoverRequestSpec{}); answer.From != before || !answer.Coordinated {
			t.Errorf("unexpected answer %+v", answer)
		}
	})
	before = x.Primary(t)
	x.Crash(t, x.client, "crash", route, func() {
		pod, err := x.Pod(t, before)
		if err != nil {
			t.Fatal(err)
		}
		x.Env.DeletePod(t, x.Namespace, pod.Name, 0)
		framework.Eventually(t, time.Minute, "another primary is named", func() error {
			if now := x.Primary(t); now == before {
				return fmt.Errorf("still %s", now)
			}
			return nil
		})
	})
}

func liveOverTLS(t *testing.T, x *encrypted) {
	framework.Eventually(t, time.Minute, "replication and monitors tell of all", func() error { // the primary was lost a moment ago
		table := framework.Kubectl(t, "get", "valkey", x.Name, "-n", x.Namespace, "--subresource=replication")
		monitors := framework.Kubectl(t, "get", "monitors.valkey.io", "-n", x.Namespace)
		if strings.Count(table, " up ") != 2 || !strings.Contains(table, "3/3") || !strings.Contains(monitors, "3/3") {
			return fmt.Errorf("replication:\n%s\nmonitors:\n%s", table, monitors)
		}
		return nil
	})
	path := fmt.Sprintf("/apis/valkey.io/v1alpha1/namespaces/%s/valkeys/%s/proxy/snapshot", x.Namespace, x.Name)
	if snapshot := framework.Kubectl(t, "get", "--raw", path); !strings.Contains(snapshot, "handover:") {
		t.Errorf("a snapshot of %d bytes lacks what was written", len(snapshot))
	}
	plugin := func(args ...string) string {
		out, err := exec.CommandContext(t.Context(), filepath.Join("..", "..", "bin", "kubectl-valkey"), append([]string{"-n", x.Namespace}, args...)...).CombinedOutput()
		if err != nil {
			t.Errorf("kubectl valkey %v: %v\n%s", args, err, out)
		}
		return string(out)
	}
	wants(t, "cli", plugin("cli", x.Name, "--", "PING"), "PONG")
	wants(t, "status", plugin("status", x.Name), "TLS", "alone")
	wants(t, "connect", plugin("connect", x.Name), "there is no plaintext", secretTLS)
}

// The certificate is taken by every port, while clients write and none of them notices.
func anotherCertificate(t *testing.T, x *encrypted) {
	x.Planned(t, x.client, "rotation", x.byTLS(), func() {
		began := time.Now()
		x.issue(t)
		framework.Eventually(t, newSerialWithin, "every port serves the new certificate", func() error {
			return x.serves(t, x.ports(naming.PortValkey, naming.PortSentinel))
		})
		t.Logf("every port served the new certificate after %s", time.Since(began).Round(time.Second))
		x.await(t, v1alpha1.ReasonAsExpected)
	})
}

func brokenSecret(t *testing.T, x *encrypted) {
	before := podUIDs(t, x.Set)
	x.store(t, valkeytest.NewAuthority(t).Issue("other").Key)
	x.WaitCondition(t, v1alpha1.ConditionEncrypted, metav1.ConditionFalse, v1alpha1.ReasonCertificateUnusable, time.Minute)
	x.WaitCondition(t, v1alpha1.ConditionDegraded, metav1.ConditionTrue, v1alpha1.ReasonCertificateUnusable, time.Minute)
	framework.Kubectl(t, "delete", "secret", secretTLS, "-n", x.Namespace)
	x.WaitCondition(t, v1alpha1.ConditionEncrypted, metav1.ConditionFalse, v1alpha1.ReasonSecretMissing, time.Minute)
	// The controller goes on seeing the servers: in mode Operator they would be fenced otherwise.
	x.WaitCondition(t, v1alpha1.ConditionReady, metav1.ConditionTrue, "", time.Minute)
	x.WaitCondition(t, v1alpha1.ConditionReplicationHealthy, metav1.ConditionTrue, "", time.Minute)
	if err := x.serves(t, x.ports(naming.PortValkey, naming.PortSentinel)); err != nil {
		t.Errorf("what ran does not go on: %v", err)
	}
	if after := podUIDs(t, x.Set); fmt.Sprint(before) != fmt.Sprint(after) {
		t.Errorf("pods were replaced: %v, then %v", before, after)
	}
	x.store(t, x.issued.Key)
	x.await(t, v1alpha1.ReasonAsExpected)
}

func plaintextAgain(t *testing.T, x *encrypted) {
	_, err := framework.TryKubectl(t, "", "patch", "valkey", x.Name, "-n", x.Namespace, "--type=merge", "-p", `{"spec":{"networking":{"tls":null}}}`)
	if err == nil || !strings.Contains(err.Error(), "set allowUnencrypted first") {
		t.Errorf("TLS was turned off at once: %v", err)
	}
	l := x.client.Ledger(t, "again", x.byTLS()...)
	x.ask(t, `{"allowUnencrypted":true}`)
	x.await(t, v1alpha1.ReasonPlaintextServed)
	if sum := l.Close(t, nil); sum.Lost != 0 {
		t.Errorf("%d acknowledged writes are lost: %v", sum.Lost, sum.LostKeys)
	}
	x.Planned(t, x.client, "off", []string{"-addr", x.PrimaryAddress()}, func() {
		x.ask(t, "null")
		x.await(t, "")
	})
}
