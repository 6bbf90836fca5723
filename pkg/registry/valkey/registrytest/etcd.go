// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package registrytest

import (
	"context"
	"testing"

	autoscalingv1 "k8s.io/api/autoscaling/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	genericapirequest "k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/registry/generic"
	serverstorage "k8s.io/apiserver/pkg/server/storage"
	etcd3testing "k8s.io/apiserver/pkg/storage/etcd3/testing"

	"github.com/valkeykube/valkeykube/pkg/apis/valkey"
	"github.com/valkeykube/valkeykube/pkg/apis/valkey/install"
	"github.com/valkeykube/valkeykube/pkg/apis/valkey/v1alpha1"
)

// Namespace is where the objects of a test live.
const Namespace = "test"

// Scheme knows the group, and Scale.
func Scheme() *runtime.Scheme {
	scheme := runtime.NewScheme()
	install.Install(scheme)
	if err := autoscalingv1.AddToScheme(scheme); err != nil {
		panic(err)
	}
	return scheme
}

// Options make a store in an etcd of the test's own, which ends with the test.
func Options(t testing.TB, scheme *runtime.Scheme, plural string) generic.RESTOptions {
	t.Helper()
	server, config := etcd3testing.NewUnsecuredEtcd3TestClientServer(t)
	t.Cleanup(func() { server.Terminate(t) })
	factory := serverstorage.NewDefaultStorageFactory(*config, "application/vnd.kubernetes.protobuf", serializer.NewCodecFactory(scheme),
		serverstorage.NewDefaultResourceEncodingConfig(scheme), serverstorage.NewResourceConfig(), nil)
	storage, err := factory.NewConfig(valkey.Resource(plural), nil)
	if err != nil {
		t.Fatal(err)
	}
	return generic.RESTOptions{
		StorageConfig: storage, Decorator: generic.UndecoratedStorage, DeleteCollectionWorkers: 1, ResourcePrefix: plural,
	}
}

// Context is that of a request on the resource, or its subresource, in Namespace.
func Context(plural, subresource string) context.Context {
	gv := schema.GroupVersion(v1alpha1.SchemeGroupVersion)
	ctx := genericapirequest.WithNamespace(genericapirequest.NewContext(), Namespace)
	return genericapirequest.WithRequestInfo(ctx, &genericapirequest.RequestInfo{
		IsResourceRequest: true, APIGroup: gv.Group, APIVersion: gv.Version, Namespace: Namespace,
		Resource: plural, Subresource: subresource,
	})
}
