// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package monitors

import (
	"context"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/registry/rest"
	"k8s.io/apiserver/pkg/warning"

	api "github.com/valkeykube/valkeykube/pkg/apis/valkey"
)

// REST is valkeysentinels/{name}/monitors.
type REST struct {
	printer
	source *Source
}

// NewREST makes the endpoint.
func NewREST(source *Source) *REST { return &REST{source: source} }

var (
	_ rest.Getter         = (*REST)(nil)
	_ rest.TableConvertor = (*REST)(nil)
)

// New is an empty answer.
func (r *REST) New() runtime.Object { return &api.MonitorList{} }

// Destroy does nothing: the stores belong to the kinds.
func (r *REST) Destroy() {}

// Get asks every Sentinel of the set what it monitors. Those that do not answer are in the answer with the reason, and a warning
// says so; only if none answers it is a failure.
func (r *REST) Get(ctx context.Context, name string, _ *metav1.GetOptions) (runtime.Object, error) {
	set, err := r.source.Objects.Sentinel(ctx, name)
	if err != nil {
		return nil, err
	}
	look, err := r.source.Look(ctx, set, false)
	if err != nil {
		return nil, err
	}
	if look.Unanswered != nil {
		return nil, look.Unanswered
	}
	for _, sentinel := range look.List.Sentinels {
		if sentinel.Error != "" {
			warning.AddWarning(ctx, "", fmt.Sprintf("%s does not answer: %s", sentinel.Pod, sentinel.Error))
		}
	}
	return look.List, nil
}
