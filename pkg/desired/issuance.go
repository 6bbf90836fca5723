// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package desired

import (
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/valkeykube/valkeykube/pkg/apis/valkey/v1alpha1"
)

// Issuance is what is known of the Certificate that cert-manager is asked for, or was.
type Issuance struct {
	// Live is the Certificate of that name, whoever's it is; nil: there is none, or that is not known.
	Live *unstructured.Unstructured
	// Lacking says why cert-manager cannot be asked; empty where it can.
	Lacking string
	// UsedBy is who still uses the Secret that it fills, though the spec no longer asks for it; empty: nobody.
	UsedBy string
}

// IsOurs tells whether there is a Certificate, and it is the owner's.
func (i Issuance) IsOurs(owner metav1.Object) bool { return i.Live != nil && IsOwnedBy(i.Live, owner) }

// MayBeRemoved tells whether the owner's Certificate, which it no longer asks for, has nobody left who uses what it fills.
func (i Issuance) MayBeRemoved(owner metav1.Object) bool {
	return i.IsOurs(owner) && i.UsedBy == "" && i.Live.GetDeletionTimestamp() == nil
}

// Of is what the Secret holds with what is known of the Certificate that fills it. name is that of both.
func (i Issuance) Of(held Certificate, owner metav1.Object, name string) Certificate {
	const wayOut = "; or name a Secret in spec.networking.tls.secretName"
	switch {
	case i.Lacking != "":
		held.Reason, held.Message = v1alpha1.ReasonCertManagerMissing, i.Lacking+wayOut
	case i.Live == nil:
		held.Reason, held.Message = v1alpha1.ReasonCertificateNotReady, fmt.Sprintf("Certificate %s is being asked for", name)
	case !IsOwnedBy(i.Live, owner):
		held.Reason = v1alpha1.ReasonForeignObject
		held.Message = fmt.Sprintf("Certificate %s exists and belongs to somebody else; it is left alone: delete it, and it is made anew%s", name, wayOut)
	default:
		if words := notReady(i.Live); words != "" {
			held.Reason, held.Message = v1alpha1.ReasonCertificateNotReady, fmt.Sprintf("Certificate %s is not Ready: %s", name, words)
		}
	}
	return held
}

// notReady is what cert-manager says of a Certificate that is not Ready as it is asked for now; empty where it is.
func notReady(certificate *unstructured.Unstructured) string {
	conditions, _, _ := unstructured.NestedSlice(certificate.Object, "status", "conditions")
	for _, one := range conditions {
		condition, _ := one.(map[string]any)
		word := func(key string) string { text, _ := condition[key].(string); return text }
		if word("type") != "Ready" {
			continue
		}
		// It is of an older spec where it says of which, and that is another.
		seen, says := condition["observedGeneration"].(int64)
		switch {
		case word("status") != string(metav1.ConditionTrue):
			return word("reason") + ": " + word("message")
		case says && seen < certificate.GetGeneration():
			return "cert-manager has not looked at it since it was changed"
		}
		return ""
	}
	return "cert-manager has said nothing yet: is it running?"
}
