// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package failover

import (
	"context"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"
)

// findMonitored finds the Valkey that a request on a ValkeySentinel is about: the named one, or the only one that it monitors.
func (e *Executor) findMonitored(ctx context.Context, name string, o *order) error {
	set, err := e.Objects.Sentinel(ctx, name)
	if err != nil {
		return err
	}
	if preconditions := o.request.Spec.Preconditions; preconditions != nil {
		if uid := preconditions.UID; uid != nil && *uid != set.UID {
			return preconditionFailed(sentinels, name, "UID", string(*uid), string(set.UID))
		}
		if version := preconditions.ResourceVersion; version != nil && *version != set.ResourceVersion {
			return preconditionFailed(sentinels, name, "resourceVersion", *version, set.ResourceVersion)
		}
	}
	watched, err := e.Objects.MonitoredBy(ctx, set)
	if err != nil {
		return err
	}
	monitored := slices.Sorted(maps.Values(watched))
	path := field.NewPath("spec", "valkey")
	named := o.request.Spec.Valkey
	switch {
	case len(monitored) == 0:
		return conflict(sentinels, name, CauseNotMonitored, "it monitors no Valkey")
	case named == "" && len(monitored) > 1:
		return invalid(name, field.ErrorList{field.Required(path, "it monitors "+strings.Join(monitored, ", "))})
	case named == "":
		named = monitored[0]
	case !slices.Contains(monitored, named):
		return invalid(name, field.ErrorList{field.NotSupported(path, named, monitored)})
	}
	o.valkey, o.request.Spec.Valkey = named, named
	return nil
}
