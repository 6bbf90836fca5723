// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

// Annotations that people set on a Valkey.
const (
	// AnnotationPrimaryRoll says who decides when a roll reaches the primary: "Automatic" (default) or "Manual".
	AnnotationPrimaryRoll = "valkey.io/primary-roll"
	// PrimaryRollManual lets the roll wait before the primary until AnnotationApprovePrimaryRoll is set.
	PrimaryRollManual = "Manual"
	// AnnotationApprovePrimaryRoll approves the replacement of the primary's pod: its value is the revision that the condition names.
	// It also gives up the data of a primary that is alone and keeps them in memory only.
	AnnotationApprovePrimaryRoll = "valkey.io/approve-primary-roll"
)
