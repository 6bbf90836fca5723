// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package valkey

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apiserver/pkg/warning"

	api "github.com/valkeykube/valkeykube/pkg/apis/valkey"
)

func TestAMonitorNameIsOneValkeys(t *testing.T) {
	taken := func(name, holder string) []string {
		return []string{`spec.failover.sentinel.monitorName: Invalid value: "` + name + `": is the name under which Valkey ` + holder +
			` of this namespace is monitored: set another monitorName`}
	}
	unmonitored := monitored("new", "")
	unmonitored.Spec.Failover.Mode = api.FailoverModeOperator
	for name, c := range map[string]struct {
		object, old    *api.Valkey
		cached, stored []string
		want           []string
		wantAsked      []string
	}{
		"free":                          {object: monitored("new", "m"), wantAsked: []string{"ns/m false"}},
		"taken":                         {monitored("new", "m"), nil, []string{"old"}, []string{"old"}, taken("m", "old"), []string{"ns/m false", "ns/m true"}},
		"taken, as it is called":        {monitored("new", ""), nil, []string{"old"}, []string{"old"}, taken("new", "old"), []string{"ns/new false", "ns/new true"}},
		"taken twice":                   {monitored("new", "m"), nil, []string{"b", "a"}, []string{"b", "a"}, taken("m", "a"), []string{"ns/m false", "ns/m true"}},
		"its own":                       {monitored("new", "m"), nil, []string{"new"}, nil, nil, []string{"ns/m false"}},
		"the holder has just gone":      {monitored("new", "m"), nil, []string{"old"}, nil, nil, []string{"ns/m false", "ns/m true"}},
		"not monitored":                 {object: unmonitored, cached: []string{"old"}},
		"an update that leaves it":      {object: monitored("new", "m"), old: monitored("new", "m"), cached: []string{"old"}},
		"an update that takes it":       {monitored("new", ""), unmonitored, []string{"old"}, []string{"old"}, taken("new", "old"), []string{"ns/new false", "ns/new true"}},
		"an update that gives up its":   {object: unmonitored, old: monitored("new", "m"), cached: []string{"old"}},
		"an update that takes it again": {object: monitored("new", "m"), old: unmonitored, wantAsked: []string{"ns/m false"}},
	} {
		t.Run(name, func(t *testing.T) {
			around := &others{cached: c.cached, stored: c.stored}
			var got []string
			for _, err := range NewKind(around, &MonitorNames{}).Conflicts(t.Context(), c.object, c.old) {
				got = append(got, err.Error())
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("want (-), got (+):\n%s", diff)
			}
			if diff := cmp.Diff(c.wantAsked, around.asked); diff != "" {
				t.Errorf("asked: want (-), got (+):\n%s", diff)
			}
		})
	}
}

func TestWhoCannotLookLetsIn(t *testing.T) {
	var warned recorder
	ctx := warning.WithWarningRecorder(t.Context(), &warned)
	kind := NewKind(&others{err: errors.New("away")}, &MonitorNames{})
	if errs := kind.Conflicts(ctx, monitored("new", "m"), nil); len(errs) != 0 {
		t.Errorf("refused: %v", errs)
	}
	want := recorder{
		"metadata.name: could not be compared with the names of other objects' Services",
		"spec.failover.sentinel.monitorName: could not be compared with the names that other Valkeys use",
	}
	if diff := cmp.Diff(want, warned); diff != "" {
		t.Errorf("want (-), got (+):\n%s", diff)
	}
}

func TestWritersOfOneNameTakeTurns(t *testing.T) {
	var names MonitorNames
	firstCtx, first := names.Begin(t.Context())
	if err := first.hold(firstCtx, "ns/m"); err != nil {
		t.Fatal(err)
	}
	// Another name is nobody's business.
	otherCtx, other := names.Begin(t.Context())
	if err := other.hold(otherCtx, "ns/n"); err != nil {
		t.Fatal(err)
	}
	other.End()

	got := make(chan error, 1)
	secondCtx, second := names.Begin(t.Context())
	go func() { got <- second.hold(secondCtx, "ns/m") }()
	impatient, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	thirdCtx, third := names.Begin(impatient)
	if err := third.hold(thirdCtx, "ns/m"); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("who waits in vain: %v", err)
	}
	third.End()
	select {
	case <-got:
		t.Fatal("two hold the name")
	default:
	}

	first.End()
	if err := <-got; err != nil {
		t.Fatal(err)
	}
	// Tried again under another name, the first is given up.
	if err := second.hold(secondCtx, "ns/o"); err != nil {
		t.Fatal(err)
	}
	fourthCtx, fourth := names.Begin(t.Context())
	if err := fourth.hold(fourthCtx, "ns/m"); err != nil {
		t.Fatal(err)
	}
	fourth.End()
	second.End()
	if len(names.turns) != 0 {
		t.Errorf("remembered for ever: %v", names.turns)
	}
}
