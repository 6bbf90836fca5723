// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package install

import (
	"math/rand"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	apitesting "k8s.io/apimachinery/pkg/api/apitesting/fuzzer"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	metafuzzer "k8s.io/apimachinery/pkg/apis/meta/fuzzer"
	"k8s.io/apimachinery/pkg/runtime"
	runtimeserializer "k8s.io/apimachinery/pkg/runtime/serializer"

	"github.com/valkeykube/valkeykube/pkg/apis/valkey/v1alpha1"
)

// Defaults are applied when an object is written and again each time it is read from etcd: were the second time to change
// anything, a stored object would differ from what its writer was told.
func TestDefaultingTwiceChangesNothing(t *testing.T) {
	seed := time.Now().UnixNano()
	t.Logf("seed %d", seed)
	scheme := runtime.NewScheme()
	Install(scheme)
	random := apitesting.FuzzerFor(metafuzzer.Funcs, rand.NewSource(seed), runtimeserializer.NewCodecFactory(scheme))
	for _, kind := range []string{"Valkey", "ValkeySentinel", "ValkeyNode", "Failover"} {
		t.Run(kind, func(t *testing.T) {
			for range 1000 {
				object, err := scheme.New(v1alpha1.SchemeGroupVersion.WithKind(kind))
				if err != nil {
					t.Fatal(err)
				}
				random.Fill(object)
				scheme.Default(object)
				once := object.DeepCopyObject()
				scheme.Default(object)
				if !apiequality.Semantic.DeepEqual(once, object) {
					t.Fatalf("once (-), twice (+):\n%s", cmp.Diff(once, object))
				}
				internal, err := scheme.ConvertToVersion(object, runtime.InternalGroupVersioner)
				if err != nil {
					t.Fatal(err)
				}
				stored, err := scheme.ConvertToVersion(internal, v1alpha1.SchemeGroupVersion)
				if err != nil {
					t.Fatal(err)
				}
				scheme.Default(stored)
				stored.GetObjectKind().SetGroupVersionKind(once.GetObjectKind().GroupVersionKind())
				if !apiequality.Semantic.DeepEqual(once, stored) {
					t.Fatalf("once (-), after it was stored (+):\n%s", cmp.Diff(once, stored))
				}
			}
		})
	}
}
