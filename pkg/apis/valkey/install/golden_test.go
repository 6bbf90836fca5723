// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package install

import (
	"testing"

	"k8s.io/apimachinery/pkg/api/apitesting/roundtrip"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/valkeykube/valkeykube/pkg/apis/valkey/v1alpha1"
)

// Objects that an earlier version has stored, or that a client has written for it, must read as the same objects for ever.
//
// testdata/HEAD holds each stored kind with every field set, as JSON, YAML and protobuf. When fields are added, write it anew:
//
//	UPDATE_COMPATIBILITY_FIXTURE_DATA=true go test ./pkg/apis/valkey/install -run TestGoldenObjects; go test ./pkg/apis/valkey/install
//
// and see in the difference that nothing but new fields has appeared: no line may change or go. When a version is released, keep
// what it wrote: cp -r testdata/HEAD testdata/v<version>. Those folders are found by themselves and never changed again.
func TestGoldenObjects(t *testing.T) {
	scheme := runtime.NewScheme()
	Install(scheme)
	options := roundtrip.NewCompatibilityTestOptions(scheme)
	options.Kinds = []schema.GroupVersionKind{
		v1alpha1.SchemeGroupVersion.WithKind("Valkey"),
		v1alpha1.SchemeGroupVersion.WithKind("ValkeySentinel"),
		v1alpha1.SchemeGroupVersion.WithKind("ValkeyNode"),
	}
	options.Complete(t).Run(t)
}
