// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package monitors

import (
	"context"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	genericapirequest "k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/registry/rest"
	"k8s.io/apiserver/pkg/warning"

	api "github.com/valkeykube/valkeykube/pkg/apis/valkey"
	"github.com/valkeykube/valkeykube/pkg/apis/valkey/v1alpha1"
	"github.com/valkeykube/valkeykube/pkg/inspect"
	"github.com/valkeykube/valkeykube/pkg/registry/valkey/live"
	"github.com/valkeykube/valkeykube/pkg/topology/view"
)

const (
	// deadline bounds one look.
	deadline = 5 * time.Second
	// remembered is how long a look answers later callers too.
	remembered = time.Second
)

// REST is valkeysentinels/{name}/monitors.
type REST struct {
	printer
	live.Dependencies
	memory *live.Memory[types.UID, *v1alpha1.MonitorList]
}

// NewREST makes the endpoint.
func NewREST(dependencies live.Dependencies) *REST {
	return &REST{
		Dependencies: dependencies,
		memory:       &live.Memory[types.UID, *v1alpha1.MonitorList]{Clock: dependencies.Clock, For: remembered, Deadline: deadline},
	}
}

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
	set, err := r.Objects.Sentinel(ctx, name)
	if err != nil {
		return nil, err
	}
	list, err := r.memory.Get(ctx, set.UID, func(ctx context.Context) (*v1alpha1.MonitorList, error) { return r.look(ctx, set) })
	if err != nil {
		return nil, err
	}
	for _, sentinel := range list.Sentinels {
		if sentinel.Error != "" {
			warning.AddWarning(ctx, "", fmt.Sprintf("%s does not answer: %s", sentinel.Pod, sentinel.Error))
		}
	}
	answer := &api.MonitorList{}
	return answer, v1alpha1.Convert_v1alpha1_MonitorList_To_valkey_MonitorList(list.DeepCopy(), answer, nil)
}

func (r *REST) look(ctx context.Context, set *v1alpha1.ValkeySentinel) (*v1alpha1.MonitorList, error) {
	ctx = genericapirequest.WithNamespace(ctx, set.Namespace)
	targets, err := r.Processes.Sentinels(ctx, set)
	if err != nil {
		return nil, live.FromDiscovery(resource, set.Name, err)
	}
	valkeys, err := r.Objects.MonitoredBy(ctx, set)
	if err != nil {
		return nil, err
	}
	snapshot := inspect.Inspector{Clients: r.Clients, Deadline: deadline}.Look(ctx, inspect.Subject{Sentinels: targets})
	if !live.AnyAnswered(snapshot) {
		return nil, live.Unavailable(resource, set.Name, "no Sentinel answers", live.UnreachableCauses(snapshot))
	}
	return view.Monitors(snapshot, set, valkeys), nil
}

var resource = v1alpha1.Resource("valkeysentinels")
