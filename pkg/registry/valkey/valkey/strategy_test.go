// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package valkey

import (
	"context"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime"

	api "github.com/valkeykube/valkeykube/pkg/apis/valkey"
)

func TestWarningsAreAboutWhatWasWritten(t *testing.T) {
	strategy := NewStrategy(runtime.NewScheme())
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
	if got := (StatusStrategy{strategy}).WarningsOnUpdate(context.Background(), changed, object); got != nil {
		t.Errorf("a status warned: %v", got)
	}
}
