// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package apiserver

import (
	"strings"
	"testing"

	clientv3 "go.etcd.io/etcd/client/v3"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer/protobuf"

	"github.com/valkeykube/valkeykube/pkg/apis/valkey/v1alpha1"
	"github.com/valkeykube/valkeykube/pkg/apiserver"
)

func rawPrefix(plural, namespace string) string {
	return "/registry/valkey.io/" + plural + "/" + namespace + "/"
}

// storedUnder are the names of the objects that etcd holds in a namespace.
func storedUnder(t *testing.T, plural, namespace string) []string {
	t.Helper()
	found, err := shared.etcd.Get(t.Context(), rawPrefix(plural, namespace), clientv3.WithPrefix(), clientv3.WithKeysOnly())
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, entry := range found.Kvs {
		names = append(names, strings.TrimPrefix(string(entry.Key), rawPrefix(plural, namespace)))
	}
	return names
}

// putRaw stores an object as the server would, without asking it.
func putRaw(t *testing.T, plural, namespace, name string, object runtime.Object) {
	t.Helper()
	codec := apiserver.Codecs.CodecForVersions(protobuf.NewSerializer(apiserver.Scheme, apiserver.Scheme), apiserver.Codecs.UniversalDecoder(),
		v1alpha1.SchemeGroupVersion, runtime.InternalGroupVersioner)
	value, err := runtime.Encode(codec, object)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := shared.etcd.Put(t.Context(), rawPrefix(plural, namespace)+name, string(value)); err != nil {
		t.Fatal(err)
	}
}
