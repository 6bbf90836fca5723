// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package valkey

import (
	"context"
	"fmt"
	"strings"

	"k8s.io/klog/v2"

	api "github.com/valkeykube/valkeykube/pkg/apis/valkey"
	"github.com/valkeykube/valkeykube/pkg/apis/valkey/v1alpha1"
	"github.com/valkeykube/valkeykube/pkg/selection"
)

// watchers warns about the ValkeySentinels that select a Valkey. What cannot be read is not warned about.
type watchers struct{ others Others }

func (w watchers) warnings(ctx context.Context, object, _ *api.Valkey) []string {
	if object.Spec.Failover.Mode != api.FailoverModeSentinel {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, lookTimeout)
	defer cancel()
	sets, err := w.others.CachedSentinels(ctx)
	if err != nil {
		klog.FromContext(ctx).Error(err, "A Valkey was not compared with the ValkeySentinels", "namespace", object.Namespace, "valkey", object.Name)
		return nil
	}
	valkey := versioned(object)
	choice := selection.For(valkey, sets)
	if choice.Monitor == nil {
		return nil
	}
	var warnings []string
	if len(choice.Conflicting) > 0 {
		var names []string
		for _, set := range choice.Conflicting {
			names = append(names, set.Name)
		}
		warnings = append(warnings, fmt.Sprintf("metadata.labels: selected by the ValkeySentinels %s and %s: the oldest, %s, monitors it",
			choice.Monitor.Name, strings.Join(names, ", "), choice.Monitor.Name))
	}
	if sentinel := valkey.Spec.Failover.Sentinel; sentinel != nil && sentinel.Quorum != nil {
		if text := v1alpha1.UnwiseQuorum(*sentinel.Quorum, choice.Monitor.Spec.Replicas); text != "" {
			warnings = append(warnings, fmt.Sprintf("spec.failover.sentinel.quorum: with the Sentinels of ValkeySentinel %s, %s", choice.Monitor.Name, text))
		}
	}
	return warnings
}
