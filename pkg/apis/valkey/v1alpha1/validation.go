// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	"context"

	"k8s.io/apimachinery/pkg/api/operation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// ValidateCustom_ValkeySpec checks what the tags cannot express. It is skipped while the spec is unchanged.
func ValidateCustom_ValkeySpec(_ context.Context, _ operation.Operation, _ *field.Path, _, _ *ValkeySpec) field.ErrorList { //nolint:revive,staticcheck // the generator wants this name
	return nil
}

// ValidateCustom_ValkeySentinelSpec checks what the tags cannot express. It is skipped while the spec is unchanged.
func ValidateCustom_ValkeySentinelSpec(_ context.Context, _ operation.Operation, _ *field.Path, _, _ *ValkeySentinelSpec) field.ErrorList { //nolint:revive,staticcheck // the generator wants this name
	return nil
}

// ValidateCustom_ValkeyNodeSpec checks what the tags cannot express. It is skipped while the spec is unchanged.
func ValidateCustom_ValkeyNodeSpec(_ context.Context, _ operation.Operation, _ *field.Path, _, _ *ValkeyNodeSpec) field.ErrorList { //nolint:revive,staticcheck // the generator wants this name
	return nil
}

// ValidateCustom_FailoverRequestSpec checks what the tags cannot express.
func ValidateCustom_FailoverRequestSpec(_ context.Context, _ operation.Operation, _ *field.Path, _, _ *FailoverRequestSpec) field.ErrorList { //nolint:revive,staticcheck // the generator wants this name
	return nil
}
