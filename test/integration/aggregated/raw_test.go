// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build integration

package aggregated

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/valkeykube/valkeykube/pkg/apis/valkey/v1alpha1"
)

const encryption = `
apiVersion: apiserver.config.k8s.io/v1
kind: EncryptionConfiguration
resources:
- resources: [valkeys.valkey.io]
  providers:
  - aescbc: {keys: [{name: first, secret: %s}]}
  - identity: {}
`

// raw is what etcd holds about an object.
func raw(t *testing.T, endpoint, resource, name string) string {
	t.Helper()
	client, err := clientv3.New(clientv3.Config{Endpoints: []string{endpoint}, DialTimeout: 5 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = client.Close() }()
	got, err := client.Get(t.Context(), "/registry/valkey.io/"+resource+"/default/"+name)
	if err != nil {
		t.Fatal(err)
	}
	if len(got.Kvs) != 1 {
		t.Fatalf("etcd holds %d values", len(got.Kvs))
	}
	return string(got.Kvs[0].Value)
}

func TestObjectsAreProtobufInEtcdAndEncryptedOnRequest(t *testing.T) {
	c := startCluster(t)
	etcd := startEtcd(t, t.TempDir())
	stop := c.serve(t, "", etcd.Endpoint())
	c.awaitAPI(t)
	api := valkeyClient(t, c.admin).ValkeyV1alpha1()
	create := func(name string) {
		t.Helper()
		valkey := &v1alpha1.Valkey{ObjectMeta: metav1.ObjectMeta{Name: name, Annotations: map[string]string{"marker": "in-the-clear"}}}
		if _, err := api.Valkeys("default").Create(t.Context(), valkey, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	create("plain")
	if stored := raw(t, etcd.Endpoint(), "valkeys", "plain"); !strings.HasPrefix(stored, "k8s\x00") || !strings.Contains(stored, "in-the-clear") {
		t.Errorf("not protobuf: %q", stored)
	}
	stop()

	file := filepath.Join(t.TempDir(), "encryption.yaml")
	key := base64.StdEncoding.EncodeToString([]byte(strings.Repeat("k", 32)))
	if err := os.WriteFile(file, fmt.Appendf(nil, encryption, key), 0o600); err != nil {
		t.Fatal(err)
	}
	options := c.options(t, "", etcd.Endpoint())
	options.Recommended.Etcd.EncryptionProviderConfigFilepath = file
	c.serveOptions(t, options)
	c.awaitAPI(t)
	create("secret")
	if stored := raw(t, etcd.Endpoint(), "valkeys", "secret"); !strings.HasPrefix(stored, "k8s:enc:aescbc:v1:first:") || strings.Contains(stored, "in-the-clear") {
		t.Errorf("not encrypted: %q", stored)
	}
	for _, name := range []string{"plain", "secret"} {
		got, err := api.Valkeys("default").Get(t.Context(), name, metav1.GetOptions{})
		if err != nil || got.Annotations["marker"] != "in-the-clear" {
			t.Errorf("%s: %v, %v", name, got.GetAnnotations(), err)
		}
	}
}

func TestAFullStoreSaysSoAndIsRead(t *testing.T) {
	c := startCluster(t)
	options := c.options(t, filepath.Join(t.TempDir(), "data"))
	options.EtcdQuotaBytes = 4 << 20
	c.serveOptions(t, options)
	c.awaitAPI(t)
	api := valkeyClient(t, c.admin).ValkeyV1alpha1().Valkeys("default")
	large := map[string]string{"filler": strings.Repeat("f", 200<<10)}
	made := 0
	await(t, "a full store", func(ctx context.Context) error {
		_, err := api.Create(ctx, &v1alpha1.Valkey{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("v-%d", made), Annotations: large}}, metav1.CreateOptions{})
		if err == nil {
			made++
			return errors.New("there is room")
		}
		var status *apierrors.StatusError
		if !errors.As(err, &status) || status.ErrStatus.Code != 507 || !strings.Contains(err.Error(), "has reached its quota of 4194304 bytes: delete objects") {
			return err
		}
		return nil
	})
	list, err := api.List(t.Context(), metav1.ListOptions{})
	if err != nil || len(list.Items) != made || made == 0 {
		t.Errorf("%d objects were made, %d are read: %v", made, len(list.Items), err)
	}
	if err := api.Delete(t.Context(), "v-0", metav1.DeleteOptions{}); err != nil {
		t.Errorf("a deletion: %v", err)
	}
}

func TestARestoredSnapshotIsTheStoreOnRecord(t *testing.T) {
	c := startCluster(t)
	dataDir := filepath.Join(t.TempDir(), "data")
	stop := c.serve(t, dataDir)
	c.awaitAPI(t)
	api := valkeyClient(t, c.admin).ValkeyV1alpha1().Valkeys("default")
	early, err := api.Create(t.Context(), &v1alpha1.Valkey{ObjectMeta: metav1.ObjectMeta{Name: "early"}}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "snapshot.db")
	if out, err := command(t, "etcd", "snapshot", "--data-dir", dataDir, "--output", file); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	late, err := api.Create(t.Context(), &v1alpha1.Valkey{ObjectMeta: metav1.ObjectMeta{Name: "late"}}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	stop()
	if out, err := command(t, "etcd", "restore", "--data-dir", dataDir, "--from", file, "--replace"); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	c.serve(t, dataDir)
	c.awaitAPI(t)
	got, err := api.Get(t.Context(), "early", metav1.GetOptions{})
	if err != nil || got.UID != early.UID {
		t.Errorf("UID %s, was %s: %v", got.UID, early.UID, err)
	}
	if _, err := api.Get(t.Context(), "late", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("what is younger than the snapshot: %v", err)
	}
	// A watcher that remembers a younger revision begins anew instead of waiting for revisions that will mean something else.
	watch, err := api.Watch(t.Context(), metav1.ListOptions{ResourceVersion: late.ResourceVersion})
	if err == nil {
		defer watch.Stop()
		event := <-watch.ResultChan()
		err = apierrors.FromObject(event.Object)
	}
	if !apierrors.IsResourceExpired(err) && !apierrors.IsGone(err) {
		t.Errorf("a watch from before the restore: %v", err)
	}
	updated := got.DeepCopy()
	updated.Spec.Replicas = 1
	if _, err := api.Update(t.Context(), updated, metav1.UpdateOptions{}); err != nil {
		t.Errorf("a write: %v", err)
	}
}
