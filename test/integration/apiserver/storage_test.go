// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package apiserver

import (
	"bytes"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/valkeykube/valkeykube/pkg/apis/valkey/v1alpha1"
)

func TestObjectsAreStoredAsProtobufUnderOurPrefix(t *testing.T) {
	valkey := &v1alpha1.Valkey{ObjectMeta: metav1.ObjectMeta{Name: "stored"}}
	if _, err := shared.client.ValkeyV1alpha1().Valkeys("storage").Create(t.Context(), valkey, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	key := "/registry/valkey.io/valkeys/storage/stored"
	got, err := shared.etcd.Get(t.Context(), key)
	if err != nil {
		t.Fatal(err)
	}
	if len(got.Kvs) != 1 {
		t.Fatalf("%d values at %s", len(got.Kvs), key)
	}
	if value := got.Kvs[0].Value; !bytes.HasPrefix(value, []byte("k8s\x00")) {
		t.Errorf("stored as %.40q", value)
	}
}
