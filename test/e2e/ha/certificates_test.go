// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build e2eha

package ha

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/valkeykube/valkeykube/pkg/etcdcert"
	"github.com/valkeykube/valkeykube/test/e2e/framework"
)

// The certificates between the API servers and their etcd are renewed while both run: nothing is restarted, and nobody notices.
func TestEtcdCertificatesAreRenewed(t *testing.T) {
	env := framework.Connect(t)
	namespace := env.Namespace(t, "renewal")
	kept(t, env, namespace)
	allReady(t, env)
	restarts := restartsOf(t, env)
	traffic := begin(t, env, namespace, framework.TrafficOptions{Retries: 10, Writes: true})
	for _, name := range []string{etcdcert.SecretMember, etcdcert.SecretClient} {
		lose(t, env, name)
	}
	renewed := certificateIn(t, env, etcdcert.SecretMember)
	for i := range 3 {
		member := fmt.Sprintf("valkey-etcd-%d", i)
		framework.Eventually(t, 3*time.Minute, member+" shows the new certificate", func() error {
			address, end := forward(t, member, 2379) // it ends with a connection that the other side has broken
			defer end()
			if shown, err := shownBy(address); err != nil || !bytes.Equal(shown, renewed) {
				return fmt.Errorf("it shows another one: %w", err)
			}
			return nil
		})
	}
	more(t, traffic, 300)
	if refused := traffic.End(t); refused > 0 {
		t.Errorf("%d requests were refused", refused)
	}
	if now := restartsOf(t, env); now != restarts {
		t.Errorf("something was restarted: %s, before: %s", now, restarts)
	}
	// What starts now has the new certificates, and meets what has been running.
	env.DeletePod(t, system, "valkey-etcd-0", 0)
	env.DeletePod(t, system, pods(t, env, apiServer)[0].Name, 0)
	allReady(t, env)
}

// allReady waits until there are three API servers and three members of etcd, all ready, and no other.
func allReady(t *testing.T, env *framework.Env) {
	t.Helper()
	framework.Eventually(t, 3*time.Minute, "three API servers and three members of etcd are ready", func() error {
		for _, selector := range []string{apiServer, "app.kubernetes.io/name=valkey-etcd"} {
			list := pods(t, env, selector)
			for i := range list {
				if !framework.PodReady(&list[i]) {
					return fmt.Errorf("%s is not ready", list[i].Name)
				}
			}
			if len(list) != 3 {
				return fmt.Errorf("%d pods", len(list))
			}
		}
		return nil
	})
}

// lose deletes a Secret and waits until there is another one.
func lose(t *testing.T, env *framework.Env, name string) {
	t.Helper()
	secrets := env.Kube.CoreV1().Secrets(system)
	before := certificateIn(t, env, name)
	if err := secrets.Delete(t.Context(), name, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	framework.Eventually(t, 2*time.Minute, "another "+name, func() error {
		secret, err := secrets.Get(t.Context(), name, metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return err
		}
		if err == nil && bytes.Equal(firstOf(secret.Data[corev1.TLSCertKey]), before) {
			err = errors.New("it is the old one")
		}
		return err
	})
}

func certificateIn(t *testing.T, env *framework.Env, name string) []byte {
	t.Helper()
	secret, err := env.Kube.CoreV1().Secrets(system).Get(t.Context(), name, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return firstOf(secret.Data[corev1.TLSCertKey])
}

func firstOf(text []byte) []byte {
	if block, _ := pem.Decode(text); block != nil {
		return block.Bytes
	}
	return nil
}

// shownBy is the certificate with which a server answers; that it wants one of the client as well does not matter.
func shownBy(address string) ([]byte, error) {
	var shown []byte
	config := &tls.Config{
		InsecureSkipVerify: true, //nolint:gosec // what is shown is looked at, nothing is sent
		VerifyPeerCertificate: func(raw [][]byte, _ [][]*x509.Certificate) error {
			shown = raw[0]
			return nil
		},
	}
	connection, err := tls.Dial("tcp", address, config)
	if err == nil {
		_ = connection.Close()
	}
	if shown != nil {
		return shown, nil
	}
	return nil, err
}

func restartsOf(t *testing.T, env *framework.Env) string {
	t.Helper()
	var text string
	for _, selector := range []string{apiServer, "app.kubernetes.io/name=valkey-etcd"} {
		list := pods(t, env, selector)
		for i := range list {
			text += fmt.Sprintf("%s:%d ", list[i].UID, list[i].Status.ContainerStatuses[0].RestartCount)
		}
	}
	return text
}
