// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

// Package fuzzer owns the random objects of the round-trip tests; nothing but tests may use it.
package fuzzer

import (
	runtimeserializer "k8s.io/apimachinery/pkg/runtime/serializer"
	"sigs.k8s.io/randfill"

	"github.com/valkeykube/valkeykube/pkg/apis/valkey"
	"github.com/valkeykube/valkeykube/pkg/apis/valkey/v1alpha1"
)

// Funcs fill the kinds at random and then default them, since decoding a version defaults it and a round trip must not
// show that as a difference.
func Funcs(_ runtimeserializer.CodecFactory) []interface{} {
	return []interface{}{
		func(object *valkey.Valkey, random randfill.Continue) {
			random.FillNoCustom(object)
			var versioned v1alpha1.Valkey
			must(v1alpha1.Convert_valkey_Valkey_To_v1alpha1_Valkey(object, &versioned, nil))
			v1alpha1.SetObjectDefaults_Valkey(&versioned)
			must(v1alpha1.Convert_v1alpha1_Valkey_To_valkey_Valkey(&versioned, object, nil))
		},
		func(object *valkey.ValkeySentinel, random randfill.Continue) {
			random.FillNoCustom(object)
			var versioned v1alpha1.ValkeySentinel
			must(v1alpha1.Convert_valkey_ValkeySentinel_To_v1alpha1_ValkeySentinel(object, &versioned, nil))
			v1alpha1.SetObjectDefaults_ValkeySentinel(&versioned)
			must(v1alpha1.Convert_v1alpha1_ValkeySentinel_To_valkey_ValkeySentinel(&versioned, object, nil))
		},
		func(object *valkey.ValkeyNode, random randfill.Continue) {
			random.FillNoCustom(object)
			var versioned v1alpha1.ValkeyNode
			must(v1alpha1.Convert_valkey_ValkeyNode_To_v1alpha1_ValkeyNode(object, &versioned, nil))
			v1alpha1.SetObjectDefaults_ValkeyNode(&versioned)
			must(v1alpha1.Convert_v1alpha1_ValkeyNode_To_valkey_ValkeyNode(&versioned, object, nil))
		},
		func(object *valkey.Failover, random randfill.Continue) {
			random.FillNoCustom(object)
			var versioned v1alpha1.Failover
			must(v1alpha1.Convert_valkey_Failover_To_v1alpha1_Failover(object, &versioned, nil))
			v1alpha1.SetObjectDefaults_Failover(&versioned)
			must(v1alpha1.Convert_v1alpha1_Failover_To_valkey_Failover(&versioned, object, nil))
		},
		func(object *valkey.FailoverRequest, random randfill.Continue) {
			random.FillNoCustom(object)
			var versioned v1alpha1.FailoverRequest
			must(v1alpha1.Convert_valkey_FailoverRequest_To_v1alpha1_FailoverRequest(object, &versioned, nil))
			v1alpha1.SetObjectDefaults_FailoverRequest(&versioned)
			must(v1alpha1.Convert_v1alpha1_FailoverRequest_To_valkey_FailoverRequest(&versioned, object, nil))
		},
	}
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}
