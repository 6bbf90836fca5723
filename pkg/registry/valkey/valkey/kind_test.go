// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package valkey

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	api "github.com/valkeykube/valkeykube/pkg/apis/valkey"
	"github.com/valkeykube/valkeykube/pkg/apis/valkey/v1alpha1"
	"github.com/valkeykube/valkeykube/pkg/registry/valkey/resource"
	"github.com/valkeykube/valkeykube/pkg/registry/valkey/stored"
)

// others are the objects around: who holds a monitor name in the cache and in etcd, and the sets.
type others struct {
	cached, stored []string
	asked          []string
	sets           []*v1alpha1.ValkeySentinel
	// services are the holders of Services: "Valkey a" or "ValkeySentinel a".
	services map[string]string
	err      error
}

func (o *others) ValkeyWithService(_ context.Context, service, self string) (string, error) {
	name, _ := strings.CutPrefix(o.services[service], "Valkey ")
	if name == self || strings.HasPrefix(name, "ValkeySentinel ") {
		name = ""
	}
	return name, o.err
}

func (o *others) SentinelWithService(_ context.Context, service string) (string, error) {
	name, is := strings.CutPrefix(o.services[service], "ValkeySentinel ")
	if !is {
		name = ""
	}
	return name, o.err
}

func (o *others) HoldersOf(_ context.Context, key string, upToDate bool) ([]string, error) {
	o.asked = append(o.asked, fmt.Sprintf("%s %t", key, upToDate))
	if upToDate {
		return o.stored, o.err
	}
	return o.cached, o.err
}

func (o *others) CachedSentinels(context.Context) ([]*v1alpha1.ValkeySentinel, error) {
	return o.sets, o.err
}

type recorder []string

func (r *recorder) AddWarning(_, text string) { *r = append(*r, text) }

func monitored(name, monitor string) *api.Valkey {
	valkey := &api.Valkey{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name, Labels: map[string]string{"a": "b"}}}
	valkey.Spec.Failover.Mode = api.FailoverModeSentinel
	if monitor != "" {
		valkey.Spec.Failover.Sentinel = &api.SentinelFailoverSpec{MonitorName: monitor}
	}
	return valkey
}

func set(name string, replicas int32) *v1alpha1.ValkeySentinel {
	made := &v1alpha1.ValkeySentinel{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name}}
	made.Spec.Replicas = replicas
	made.Spec.ValkeySelector = &metav1.LabelSelector{MatchLabels: map[string]string{"a": "b"}}
	return made
}

func TestWarningsAreAboutWhatWasWritten(t *testing.T) {
	around := &others{}
	strategy := resource.NewStrategy(runtime.NewScheme(), NewKind(around, &MonitorNames{}))
	object := &api.Valkey{Spec: api.ValkeySpec{Config: map[string]string{"port": "1"}}}
	want := []string{"spec.config[port]: ignored: the product decides where the server listens"}
	if diff := cmp.Diff(want, strategy.WarningsOnCreate(context.Background(), object)); diff != "" {
		t.Errorf("on create: want (-), got (+):\n%s", diff)
	}
	labelled := object.DeepCopy()
	labelled.Labels = map[string]string{"a": "b"}
	strategy.PrepareForUpdate(context.Background(), labelled, object)
	if got := strategy.WarningsOnUpdate(context.Background(), labelled, object); got != nil {
		t.Errorf("a change of labels warned about the spec: %v", got)
	}
	changed := object.DeepCopy()
	changed.Spec.Image = "another"
	strategy.PrepareForUpdate(context.Background(), changed, object)
	if diff := cmp.Diff(want, strategy.WarningsOnUpdate(context.Background(), changed, object)); diff != "" {
		t.Errorf("on update: want (-), got (+):\n%s", diff)
	}
	status := resource.StatusStrategy[*api.Valkey, api.ValkeySpec, api.ValkeyStatus]{Strategy: strategy}
	if got := status.WarningsOnUpdate(context.Background(), changed, object); got != nil {
		t.Errorf("a status warned: %v", got)
	}
}

func TestWarningsAboutThoseThatSelectIt(t *testing.T) {
	quorum := func(of int32) *api.Valkey {
		valkey := monitored("v", "")
		valkey.Spec.Failover.Sentinel = &api.SentinelFailoverSpec{Quorum: &of}
		return valkey
	}
	none := monitored("v", "")
	none.Spec.Failover.Mode = api.FailoverModeNone
	for name, c := range map[string]struct {
		valkey *api.Valkey
		sets   []*v1alpha1.ValkeySentinel
		want   []string
	}{
		"nobody":       {monitored("v", ""), nil, nil},
		"one":          {monitored("v", ""), []*v1alpha1.ValkeySentinel{set("one", 3)}, nil},
		"another mode": {none, []*v1alpha1.ValkeySentinel{set("one", 3), set("two", 3)}, nil},
		"two": {monitored("v", ""), []*v1alpha1.ValkeySentinel{set("two", 3), set("one", 3)},
			[]string{"metadata.labels: selected by the ValkeySentinels one and two: the oldest, one, monitors it"}},
		"a good quorum": {quorum(2), []*v1alpha1.ValkeySentinel{set("one", 3)}, nil},
		"too few": {quorum(1), []*v1alpha1.ValkeySentinel{set("one", 3)},
			[]string{"spec.failover.sentinel.quorum: with the Sentinels of ValkeySentinel one, a quorum of 1 is no majority of 3: so few may be wrong about the primary"}},
		"too many": {quorum(4), []*v1alpha1.ValkeySentinel{set("one", 3)},
			[]string{"spec.failover.sentinel.quorum: with the Sentinels of ValkeySentinel one, a quorum of 4 is more than the 3 there are: no failover can be agreed on"}},
		"many, of nobody": {quorum(4), nil, nil},
	} {
		t.Run(name, func(t *testing.T) {
			kind := NewKind(&others{sets: c.sets}, &MonitorNames{})
			if diff := cmp.Diff(c.want, kind.Neighbours(t.Context(), c.valkey, nil)); diff != "" {
				t.Errorf("want (-), got (+):\n%s", diff)
			}
		})
	}
	kind := NewKind(&others{sets: []*v1alpha1.ValkeySentinel{set("one", 3), set("two", 3)}, err: errors.New("away")}, &MonitorNames{})
	if got := kind.Neighbours(t.Context(), monitored("v", ""), nil); got != nil {
		t.Errorf("what could not be read is warned about: %v", got)
	}
}

func TestLabelsAloneCanSelectTwice(t *testing.T) {
	strategy := resource.NewStrategy(runtime.NewScheme(), NewKind(&others{sets: []*v1alpha1.ValkeySentinel{set("one", 3), set("two", 3)}}, &MonitorNames{}))
	labelled := monitored("v", "")
	labelled.Spec.Replicas = 1
	bare := labelled.DeepCopy()
	bare.Labels = nil
	want := []string{"metadata.labels: selected by the ValkeySentinels one and two: the oldest, one, monitors it"}
	if diff := cmp.Diff(want, strategy.WarningsOnUpdate(t.Context(), labelled, bare)); diff != "" {
		t.Errorf("want (-), got (+):\n%s", diff)
	}
	annotated := labelled.DeepCopy()
	annotated.Annotations = map[string]string{"a": "b"}
	if got := strategy.WarningsOnUpdate(t.Context(), annotated, labelled); got != nil {
		t.Errorf("an annotation warned: %v", got)
	}
}

func TestMonitorKeyIsTheEffectiveMonitorName(t *testing.T) {
	for _, valkey := range []*api.Valkey{monitored("v", ""), monitored("v", "m")} {
		want := stored.MonitorKey("ns", v1alpha1.EffectiveMonitorName(versioned(valkey)))
		if got := monitorKey(valkey); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	other := monitored("v", "m")
	other.Spec.Failover.Mode = api.FailoverModeOperator
	if got := monitorKey(other); got != "" {
		t.Errorf("mode Operator: got %q", got)
	}
}
