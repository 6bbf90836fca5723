// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package valkeysentinel

import (
	"context"
	"fmt"
	"slices"
	"time"

	"k8s.io/klog/v2"

	api "github.com/valkeykube/valkeykube/pkg/apis/valkey"
	"github.com/valkeykube/valkeykube/pkg/apis/valkey/v1alpha1"
	"github.com/valkeykube/valkeykube/pkg/selection"
)

const (
	// lookTimeout bounds what a write waits for the sight of other objects. It goes on without.
	lookTimeout = 2 * time.Second
	// mostNamed is how many Valkeys one write warns about by name.
	mostNamed = 3
)

// watched warns about the Valkeys that a ValkeySentinel selects. What cannot be read is not warned about.
type watched struct{ others Others }

func (w watched) warnings(ctx context.Context, object, _ *api.ValkeySentinel) []string {
	ctx, cancel := context.WithTimeout(ctx, lookTimeout)
	defer cancel()
	valkeys, sets, err := w.look(ctx)
	if err != nil {
		klog.FromContext(ctx).Error(err, "A ValkeySentinel was not compared with others", "namespace", object.Namespace, "valkeySentinel", object.Name)
		return nil
	}
	set := versioned(object)
	sets = append(slices.DeleteFunc(sets, func(other *v1alpha1.ValkeySentinel) bool { return other.Name == set.Name }), set)
	var shared, unwise []string
	for i := range valkeys {
		choice := selection.For(&valkeys[i], sets)
		if text := sharing(set, &valkeys[i], choice); text != "" {
			shared = append(shared, text)
		}
		if text := unwiseQuorum(set, &valkeys[i], choice); text != "" {
			unwise = append(unwise, text)
		}
	}
	return append(fewOf("spec.valkeySelector", shared), fewOf("spec.replicas", unwise)...)
}

func (w watched) look(ctx context.Context) ([]v1alpha1.Valkey, []*v1alpha1.ValkeySentinel, error) {
	valkeys, err := w.others.CachedValkeys(ctx)
	if err != nil {
		return nil, nil, err
	}
	sets, err := w.others.CachedSentinels(ctx)
	return valkeys, sets, err
}

// sharing says what becomes of a Valkey that this set and another select.
func sharing(set *v1alpha1.ValkeySentinel, valkey *v1alpha1.Valkey, choice selection.Choice) string {
	switch {
	case slices.Contains(choice.Conflicting, set):
		return fmt.Sprintf("Valkey %s stays with the older ValkeySentinel %s, which selects it too", valkey.Name, choice.Monitor.Name)
	case choice.Monitor == set && len(choice.Conflicting) > 0:
		return fmt.Sprintf("Valkey %s is monitored by this one, which is older than ValkeySentinel %s, which selects it too",
			valkey.Name, choice.Conflicting[0].Name)
	}
	return ""
}

func unwiseQuorum(set *v1alpha1.ValkeySentinel, valkey *v1alpha1.Valkey, choice selection.Choice) string {
	sentinel := valkey.Spec.Failover.Sentinel
	if choice.Monitor != set || sentinel == nil || sentinel.Quorum == nil {
		return ""
	}
	text := v1alpha1.UnwiseQuorum(*sentinel.Quorum, set.Spec.Replicas)
	if text == "" {
		return ""
	}
	return fmt.Sprintf("for Valkey %s, %s", valkey.Name, text)
}

func fewOf(path string, texts []string) []string {
	var warnings []string
	for i, text := range texts {
		if i == mostNamed {
			return append(warnings, fmt.Sprintf("%s: the same goes for %d more Valkeys", path, len(texts)-mostNamed))
		}
		warnings = append(warnings, path+": "+text)
	}
	return warnings
}
