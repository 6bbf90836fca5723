// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build integration

package aggregated

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/pem"
	"errors"
	"os"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/valkeykube/valkeykube/pkg/apis/valkey/v1alpha1"
	"github.com/valkeykube/valkeykube/pkg/naming"
	"github.com/valkeykube/valkeykube/pkg/servingcert"
	"github.com/valkeykube/valkeykube/test/e2e/framework"
)

func clientKey(object client.Object) client.ObjectKey { return client.ObjectKeyFromObject(object) }

// served is the certificate that our server shows to new connections.
func (c *cluster) served(t *testing.T) []byte {
	t.Helper()
	connection, err := tls.Dial("tcp", c.listener.Addr().String(), &tls.Config{InsecureSkipVerify: true}) //nolint:gosec // It is looked at, not trusted.
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = connection.Close() }()
	return connection.ConnectionState().PeerCertificates[0].Raw
}

// Scenario P7: certificate and CA are replaced, as the keeper does it, under requests and a watch: none fails, and nothing restarts.
func TestP7TheCertificateIsReplacedUnderRequests(t *testing.T) {
	c := startCluster(t)
	kube, err := kubernetes.NewForConfig(c.admin)
	if err != nil {
		t.Fatal(err)
	}
	dynamicClient, err := dynamic.NewForConfig(c.admin)
	if err != nil {
		t.Fatal(err)
	}
	var ahead atomic.Int64
	keeper := &servingcert.Keeper{
		Kube: kube, Dynamic: dynamicClient, Namespace: naming.SystemNamespace, ClusterDomain: "cluster.local",
		Now: func() time.Time { return time.Now().Add(time.Duration(ahead.Load())) },
	}
	// sync is what a kubelet does with the Secret.
	sync := func() []byte {
		t.Helper()
		if err := keeper.Look(t.Context()); err != nil {
			t.Fatal(err)
		}
		secret, err := kube.CoreV1().Secrets(naming.SystemNamespace).Get(t.Context(), naming.APIServerCertSecret, metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		certificate, key := secret.Data[corev1.TLSCertKey], secret.Data[corev1.TLSPrivateKeyKey]
		if err := errors.Join(os.WriteFile(c.certificate, certificate, 0o600), os.WriteFile(c.key, key, 0o600)); err != nil {
			t.Fatal(err)
		}
		block, _ := pem.Decode(certificate)
		return block.Bytes
	}
	first := sync()
	c.start(t, t.TempDir())
	c.awaitAPI(t)
	api := valkeyClient(t, c.admin).ValkeyV1alpha1().Valkeys("default")
	made, err := api.Create(t.Context(), &v1alpha1.Valkey{ObjectMeta: metav1.ObjectMeta{Name: "kept"}}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	watcher, err := api.Watch(t.Context(), metav1.ListOptions{ResourceVersion: made.ResourceVersion})
	if err != nil {
		t.Fatal(err)
	}
	defer watcher.Stop()
	asked := framework.NewTraffic(t, c.admin, "default", "kept", framework.TrafficOptions{Writes: true})

	if _, err := kube.CoreV1().Secrets(naming.SystemNamespace).Patch(t.Context(), naming.APIServerCertSecret, "application/merge-patch+json",
		[]byte(`{"metadata":{"annotations":{"`+servingcert.AnnotationRotate+`":"now"}}}`), metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	if prepared := sync(); !bytes.Equal(prepared, first) {
		t.Fatal("the certificate was replaced before its CA was trusted")
	}
	ahead.Add(int64(2 * time.Minute))
	second := sync()
	if bytes.Equal(first, second) {
		t.Fatal("the certificate was not replaced")
	}
	await(t, "the new certificate", func(context.Context) error {
		if !bytes.Equal(c.served(t), second) {
			return errors.New("the old one is served")
		}
		return nil
	})
	ahead.Add(int64(11 * time.Minute))
	sync()
	before := asked.Answered()
	await(t, "requests with the new CA alone", func(context.Context) error {
		if asked.Answered() < before+200 {
			return errors.New("too few")
		}
		return nil
	})
	if refused := asked.End(t); refused > 0 {
		t.Errorf("%d requests were refused", refused)
	}
	last, err := api.Patch(t.Context(), "kept", types.MergePatchType, []byte(`{"metadata":{"labels":{"last":"yes"}}}`), metav1.PatchOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for {
		event, isOpen := <-watcher.ResultChan()
		object, isValkey := event.Object.(*v1alpha1.Valkey)
		if !isOpen || !isValkey || event.Type != watch.Modified {
			t.Fatalf("the watch did not last: %v", event)
		}
		if object.ResourceVersion == last.ResourceVersion {
			return
		}
	}
}
