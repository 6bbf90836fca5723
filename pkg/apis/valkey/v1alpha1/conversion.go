// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"
)

// The field selectors of each kind.
var selectableFields = map[string][]string{
	"Valkey":         {"metadata.name", "metadata.namespace", "spec.failover.mode", "status.primary", "status.state"},
	"ValkeySentinel": {"metadata.name", "metadata.namespace", "status.state"},
	"ValkeyNode":     {"metadata.name", "metadata.namespace", "spec.valkey", "status.role"},
}

func addFieldLabelConversionFuncs(scheme *runtime.Scheme) error {
	for kind, fields := range selectableFields {
		convert := func(label, value string) (string, string, error) {
			if slices.Contains(fields, label) {
				return label, value, nil
			}
			return "", "", fmt.Errorf("a %s cannot be selected by the field %q, only by %s", kind, label, strings.Join(fields, ", "))
		}
		if err := scheme.AddFieldLabelConversionFunc(SchemeGroupVersion.WithKind(kind), convert); err != nil {
			return err
		}
	}
	return nil
}
