// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package valkeysentinel

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apiserver/pkg/warning"

	api "github.com/valkeykube/valkeykube/pkg/apis/valkey"
	"github.com/valkeykube/valkeykube/pkg/apis/valkey/v1alpha1"
)

type others struct {
	valkeys []v1alpha1.Valkey
	sets    []*v1alpha1.ValkeySentinel
	// holder has every Service.
	holder string
	err    error
}

func (o others) ValkeyWithService(context.Context, string, string) (string, error) {
	return o.holder, o.err
}

func (o others) CachedValkeys(context.Context) ([]v1alpha1.Valkey, error) { return o.valkeys, o.err }

func (o others) CachedSentinels(context.Context) ([]*v1alpha1.ValkeySentinel, error) {
	return o.sets, nil
}

var born = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

func valkey(name string, quorum int32) v1alpha1.Valkey {
	made := v1alpha1.Valkey{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name, Labels: map[string]string{"a": "b"}}}
	made.Spec.Failover.Mode = v1alpha1.FailoverModeSentinel
	if quorum > 0 {
		made.Spec.Failover.Sentinel = &v1alpha1.SentinelFailoverSpec{Quorum: &quorum}
	}
	return made
}

func set(name string, age time.Duration, replicas int32) *api.ValkeySentinel {
	made := &api.ValkeySentinel{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name, CreationTimestamp: metav1.NewTime(born.Add(-age))}}
	made.Spec.Replicas = replicas
	made.Spec.ValkeySelector = &metav1.LabelSelector{MatchLabels: map[string]string{"a": "b"}}
	return made
}

func TestWarningsAboutWhatItSelects(t *testing.T) {
	old := []*v1alpha1.ValkeySentinel{versioned(set("old", time.Hour, 3))}
	elsewhere := set("new", 0, 3)
	elsewhere.Spec.ValkeySelector.MatchLabels = map[string]string{"c": "d"}
	operated := valkey("v", 9)
	operated.Spec.Failover.Mode = v1alpha1.FailoverModeOperator
	var many []v1alpha1.Valkey
	for i := range 5 {
		many = append(many, valkey(fmt.Sprintf("v%d", i), 0))
	}
	for name, c := range map[string]struct {
		set    *api.ValkeySentinel
		others others
		want   []string
	}{
		"nothing else":    {set("new", 0, 3), others{}, nil},
		"one of its own":  {set("new", 0, 3), others{valkeys: []v1alpha1.Valkey{valkey("v", 2)}}, nil},
		"other labels":    {elsewhere, others{valkeys: []v1alpha1.Valkey{valkey("v", 9)}, sets: old}, nil},
		"another mode":    {set("new", 0, 3), others{valkeys: []v1alpha1.Valkey{operated}, sets: old}, nil},
		"an older's":      {set("new", 0, 3), others{valkeys: []v1alpha1.Valkey{valkey("v", 0)}, sets: old}, []string{"spec.valkeySelector: Valkey v stays with the older ValkeySentinel old, which selects it too"}},
		"a younger's":     {set("oldest", 2*time.Hour, 3), others{valkeys: []v1alpha1.Valkey{valkey("v", 0)}, sets: old}, []string{"spec.valkeySelector: Valkey v is monitored by this one, which is older than ValkeySentinel old, which selects it too"}},
		"itself, as was":  {set("old", time.Hour, 3), others{valkeys: []v1alpha1.Valkey{valkey("v", 0)}, sets: old}, nil},
		"a low quorum":    {set("new", 0, 5), others{valkeys: []v1alpha1.Valkey{valkey("v", 2)}}, []string{"spec.replicas: for Valkey v, a quorum of 2 is no majority of 5: so few may be wrong about the primary"}},
		"a high quorum":   {set("new", 0, 3), others{valkeys: []v1alpha1.Valkey{valkey("v", 4)}}, []string{"spec.replicas: for Valkey v, a quorum of 4 is more than the 3 there are: no failover can be agreed on"}},
		"an older's case": {set("new", 0, 3), others{valkeys: []v1alpha1.Valkey{valkey("v", 4)}, sets: old}, []string{"spec.valkeySelector: Valkey v stays with the older ValkeySentinel old, which selects it too"}},
		"many": {set("new", 0, 3), others{valkeys: many, sets: old}, []string{
			"spec.valkeySelector: Valkey v0 stays with the older ValkeySentinel old, which selects it too",
			"spec.valkeySelector: Valkey v1 stays with the older ValkeySentinel old, which selects it too",
			"spec.valkeySelector: Valkey v2 stays with the older ValkeySentinel old, which selects it too",
			"spec.valkeySelector: the same goes for 2 more Valkeys",
		}},
		"who cannot look": {set("new", 0, 3), others{valkeys: many, sets: old, err: errors.New("away")}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, NewKind(c.others).Neighbours(t.Context(), c.set, nil)); diff != "" {
				t.Errorf("want (-), got (+):\n%s", diff)
			}
		})
	}
}

func TestAServiceIsOneObjects(t *testing.T) {
	var warned recorder
	ctx := warning.WithWarningRecorder(t.Context(), &warned)
	conflicts := func(others others, old *api.ValkeySentinel) string {
		return NewKind(others).Conflicts(ctx, set("w", 0, 3), old).ToAggregate().Error()
	}
	want := `metadata.name: Invalid value: "w": would have the Service valkey-sentinel-w, which Valkey sentinel-w has: choose another name`
	if got := conflicts(others{holder: "sentinel-w"}, nil); got != want {
		t.Errorf("got %s", got)
	}
	for name, errs := range map[string]field.ErrorList{
		"free":      NewKind(others{}).Conflicts(ctx, set("w", 0, 3), nil),
		"an update": NewKind(others{holder: "sentinel-w"}).Conflicts(ctx, set("w", 0, 3), set("w", 0, 3)),
		"away":      NewKind(others{err: errors.New("away")}).Conflicts(ctx, set("w", 0, 3), nil),
	} {
		if len(errs) != 0 {
			t.Errorf("%s: %v", name, errs)
		}
	}
	if diff := cmp.Diff(recorder{"metadata.name: could not be compared with the names of other objects' Services"}, warned); diff != "" {
		t.Errorf("want (-), got (+):\n%s", diff)
	}
}

type recorder []string

func (r *recorder) AddWarning(_, text string) { *r = append(*r, text) }
