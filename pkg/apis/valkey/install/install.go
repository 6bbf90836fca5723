// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

// Package install owns the registration of the group's internal and served versions in a scheme, and nothing else.
package install

import (
	"k8s.io/apimachinery/pkg/runtime"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"

	"github.com/valkeykube/valkeykube/pkg/apis/valkey"
	"github.com/valkeykube/valkeykube/pkg/apis/valkey/v1alpha1"
)

// Install registers the group. It panics on a programming error.
func Install(scheme *runtime.Scheme) {
	utilruntime.Must(valkey.AddToScheme(scheme))
	utilruntime.Must(v1alpha1.AddToScheme(scheme))
	utilruntime.Must(scheme.SetVersionPriority(v1alpha1.SchemeGroupVersion))
}
