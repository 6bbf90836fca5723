// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package selection

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/valkeykube/valkeykube/pkg/apis/valkey/v1alpha1"
)

var born = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

func set(name string, age time.Duration, change func(*v1alpha1.ValkeySentinel)) *v1alpha1.ValkeySentinel {
	made := &v1alpha1.ValkeySentinel{ObjectMeta: metav1.ObjectMeta{
		Name: name, Namespace: "ns", CreationTimestamp: metav1.NewTime(born.Add(-age)),
	}}
	made.Spec.ValkeySelector = &metav1.LabelSelector{MatchLabels: map[string]string{"watch": "yes"}}
	if change != nil {
		change(made)
	}
	return made
}

func valkey(change func(*v1alpha1.Valkey)) *v1alpha1.Valkey {
	made := &v1alpha1.Valkey{ObjectMeta: metav1.ObjectMeta{Name: "v", Namespace: "ns", Labels: map[string]string{"watch": "yes"}}}
	made.Spec.Failover.Mode = v1alpha1.FailoverModeSentinel
	if change != nil {
		change(made)
	}
	return made
}

func TestFor(t *testing.T) {
	deleted := metav1.NewTime(born)
	cases := map[string]struct {
		valkey          *v1alpha1.Valkey
		sets            []*v1alpha1.ValkeySentinel
		want            string
		wantConflicting []string
	}{
		"the oldest wins": {valkey(nil),
			[]*v1alpha1.ValkeySentinel{set("young", 1, nil), set("old", time.Hour, nil), set("middle", time.Minute, nil)},
			"old", []string{"middle", "young"}},
		"of the same age the first by name": {valkey(nil),
			[]*v1alpha1.ValkeySentinel{set("b", 0, nil), set("a", 0, nil)}, "a", []string{"b"}},
		"none selects": {valkey(func(v *v1alpha1.Valkey) { v.Labels = nil }), []*v1alpha1.ValkeySentinel{set("a", 0, nil)}, "", nil},
		"another mode is not monitored": {valkey(func(v *v1alpha1.Valkey) { v.Spec.Failover.Mode = v1alpha1.FailoverModeOperator }),
			[]*v1alpha1.ValkeySentinel{set("a", 0, nil)}, "", nil},
		"a Valkey that goes is not monitored": {valkey(func(v *v1alpha1.Valkey) { v.DeletionTimestamp = &deleted }),
			[]*v1alpha1.ValkeySentinel{set("a", 0, nil)}, "", nil},
		"a set that goes hands over to the next": {valkey(nil), []*v1alpha1.ValkeySentinel{
			set("old", time.Hour, func(s *v1alpha1.ValkeySentinel) { s.DeletionTimestamp = &deleted }), set("young", 0, nil)}, "young", nil},
		"another namespace": {valkey(nil), []*v1alpha1.ValkeySentinel{
			set("a", 0, func(s *v1alpha1.ValkeySentinel) { s.Namespace = "other" })}, "", nil},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			choice := For(c.valkey, c.sets)
			got := ""
			if choice.Monitor != nil {
				got = choice.Monitor.Name
			}
			if got != c.want || len(choice.Conflicting) != len(c.wantConflicting) {
				t.Fatalf("got %q with %d conflicting, want %q with %v", got, len(choice.Conflicting), c.want, c.wantConflicting)
			}
			for i, other := range choice.Conflicting {
				if other.Name != c.wantConflicting[i] {
					t.Errorf("conflicting[%d] is %q, want %q", i, other.Name, c.wantConflicting[i])
				}
			}
		})
	}
}

func TestMatchesNothingWithoutAUsableSelector(t *testing.T) {
	labels := map[string]string{"watch": "yes"}
	for name, selector := range map[string]*metav1.LabelSelector{
		"absent": nil,
		"empty":  {},
		"invalid": {MatchExpressions: []metav1.LabelSelectorRequirement{
			{Key: "watch", Operator: "Resembles", Values: []string{"yes"}}}},
	} {
		if Matches(selector, labels) {
			t.Errorf("%s selector matched", name)
		}
	}
	if !Matches(&metav1.LabelSelector{MatchLabels: labels}, labels) {
		t.Error("an equal selector did not match")
	}
}
