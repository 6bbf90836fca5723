// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/runtime"
)

// The field selectors of each kind, beside metadata.name and metadata.namespace.
var selectableFields = map[string][]string{
	"Valkey":         {"status.state", "spec.failover.mode", "status.primary"},
	"ValkeySentinel": {"status.state"},
	"ValkeyNode":     {"status.role", "spec.valkey"},
}

func addFieldLabelConversionFuncs(scheme *runtime.Scheme) error {
	for kind, fields := range selectableFields {
		convert := func(label, value string) (string, string, error) {
			if label == "metadata.name" || label == "metadata.namespace" || slices.Contains(fields, label) {
				return label, value, nil
			}
			return "", "", fmt.Errorf("field label not supported for %s: %s", kind, label)
		}
		if err := scheme.AddFieldLabelConversionFunc(SchemeGroupVersion.WithKind(kind), convert); err != nil {
			return err
		}
	}
	return nil
}
