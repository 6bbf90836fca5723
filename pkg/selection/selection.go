// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package selection

import (
	"cmp"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/valkeykube/valkeykube/pkg/apis/valkey/v1alpha1"
)

// Choice is who monitors a Valkey.
type Choice struct {
	// Monitor is the ValkeySentinel that monitors the Valkey: the oldest that selects it. Nil when none does.
	Monitor *v1alpha1.ValkeySentinel
	// Conflicting are the others that select it, oldest first; they leave it alone.
	Conflicting []*v1alpha1.ValkeySentinel
}

// For says which of the ValkeySentinels monitors the Valkey. Only mode Sentinel is monitored at all; sets of other namespaces
// and sets that are being deleted do not count, and neither does a Valkey that is being deleted.
func For(valkey *v1alpha1.Valkey, sets []*v1alpha1.ValkeySentinel) Choice {
	if valkey.Spec.Failover.Mode != v1alpha1.FailoverModeSentinel || valkey.DeletionTimestamp != nil {
		return Choice{}
	}
	selecting := Selecting(valkey, sets)
	if len(selecting) == 0 {
		return Choice{}
	}
	return Choice{Monitor: selecting[0], Conflicting: selecting[1:]}
}

// Selecting are the ValkeySentinels whose selector matches the Valkey, whatever its failover mode, oldest first: by creation
// time, then by name. Sets of other namespaces and sets that are being deleted are left out.
func Selecting(valkey *v1alpha1.Valkey, sets []*v1alpha1.ValkeySentinel) []*v1alpha1.ValkeySentinel {
	var selecting []*v1alpha1.ValkeySentinel
	for _, set := range sets {
		if set.Namespace == valkey.Namespace && set.DeletionTimestamp == nil && Matches(set.Spec.ValkeySelector, valkey.Labels) {
			selecting = append(selecting, set)
		}
	}
	slices.SortFunc(selecting, older)
	return selecting
}

// Matches tells whether the selector matches the labels. An absent, empty or invalid selector matches nothing.
func Matches(selector *metav1.LabelSelector, of map[string]string) bool {
	if selector == nil || len(selector.MatchLabels)+len(selector.MatchExpressions) == 0 {
		return false
	}
	compiled, err := metav1.LabelSelectorAsSelector(selector)
	return err == nil && compiled.Matches(labels.Set(of))
}

func older(a, b *v1alpha1.ValkeySentinel) int {
	if byAge := a.CreationTimestamp.Compare(b.CreationTimestamp.Time); byAge != 0 {
		return byAge
	}
	return cmp.Compare(a.Name, b.Name)
}
