// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package replication

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

// REST is valkeys/{name}/replication.
type REST struct {
	live.Dependencies
	memory *live.Memory[types.UID, *v1alpha1.Replication]
}

// NewREST makes the endpoint.
func NewREST(dependencies live.Dependencies) *REST {
	return &REST{
		Dependencies: dependencies,
		memory:       &live.Memory[types.UID, *v1alpha1.Replication]{Clock: dependencies.Clock, For: remembered, Deadline: deadline},
	}
}

var (
	_ rest.Getter         = (*REST)(nil)
	_ rest.TableConvertor = (*REST)(nil)
)

// New is an empty answer.
func (r *REST) New() runtime.Object { return &api.Replication{} }

// Destroy does nothing: the stores belong to the kinds.
func (r *REST) Destroy() {}

// Get asks every member of the Valkey, and every Sentinel that monitors it. Those that do not answer are in the answer with the reason,
// and a warning says so; only if no member answers it is a failure.
func (r *REST) Get(ctx context.Context, name string, _ *metav1.GetOptions) (runtime.Object, error) {
	valkey, err := r.Objects.Valkey(ctx, name)
	if err != nil {
		return nil, err
	}
	seen, err := r.memory.Get(ctx, valkey.UID, func(ctx context.Context) (*v1alpha1.Replication, error) { return r.look(ctx, valkey) })
	if err != nil {
		return nil, err
	}
	for i := range seen.Members {
		warn(ctx, seen.Members[i].Node, seen.Members[i].Error)
	}
	for i := range seen.Monitors {
		warn(ctx, seen.Monitors[i].Pod, seen.Monitors[i].Error)
	}
	answer := &api.Replication{}
	if err := v1alpha1.Convert_v1alpha1_Replication_To_valkey_Replication(seen.DeepCopy(), answer, nil); err != nil {
		return nil, err
	}
	// Of the Valkey as it is now, not as it was when the look was made.
	answer.Name, answer.Namespace, answer.UID = valkey.Name, valkey.Namespace, valkey.UID
	return answer, nil
}

func warn(ctx context.Context, process, why string) {
	if why != "" {
		warning.AddWarning(ctx, "", fmt.Sprintf("%s does not answer: %s", process, why))
	}
}

func (r *REST) look(ctx context.Context, valkey *v1alpha1.Valkey) (*v1alpha1.Replication, error) {
	ctx = genericapirequest.WithNamespace(ctx, valkey.Namespace)
	subject, err := r.Subject(ctx, valkey)
	if err != nil {
		return nil, err
	}
	snapshot := inspect.Inspector{Clients: r.Clients, Deadline: deadline}.Look(ctx, subject)
	if !live.AnyMemberAnswered(snapshot) {
		return nil, live.Unavailable(resource, valkey.Name, "no member of the Valkey answers", live.UnreachableCauses(snapshot))
	}
	return view.Replication(snapshot, snapshot.Primary(subject.Monitor).Name, subject.Monitor), nil
}

var resource = v1alpha1.Resource("valkeys")
