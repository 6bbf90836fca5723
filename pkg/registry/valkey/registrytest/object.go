// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package registrytest

import (
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/valkeykube/valkeykube/pkg/apis/valkey/v1alpha1"
)

// Defaulted is an internal object as it is after it came in through the served version.
func Defaulted[O runtime.Object](object O) O {
	scheme := Scheme()
	versioned, err := scheme.ConvertToVersion(object, v1alpha1.SchemeGroupVersion)
	if err != nil {
		panic(err)
	}
	scheme.Default(versioned)
	if err := scheme.Convert(versioned, object, nil); err != nil {
		panic(err)
	}
	return object
}
