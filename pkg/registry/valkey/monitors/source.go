// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package monitors

import (
	"context"
	"errors"
	"time"

	"k8s.io/apimachinery/pkg/types"
	genericapirequest "k8s.io/apiserver/pkg/endpoints/request"

	api "github.com/valkeykube/valkeykube/pkg/apis/valkey"
	"github.com/valkeykube/valkeykube/pkg/apis/valkey/v1alpha1"
	"github.com/valkeykube/valkeykube/pkg/discovery"
	"github.com/valkeykube/valkeykube/pkg/inspect"
	"github.com/valkeykube/valkeykube/pkg/naming"
	"github.com/valkeykube/valkeykube/pkg/registry/valkey/live"
	"github.com/valkeykube/valkeykube/pkg/registry/valkey/monitors/feed"
	"github.com/valkeykube/valkeykube/pkg/topology"
	"github.com/valkeykube/valkeykube/pkg/topology/view"
	"github.com/valkeykube/valkeykube/pkg/valkeyclient"
)

const (
	// deadline bounds one look.
	deadline = 5 * time.Second
	// remembered is how long a look answers later callers too.
	remembered = time.Second
)

// Source asks Sentinels. One of it is behind everything that tells of monitors, so that no Sentinel is asked twice within a second for
// the sake of readers.
type Source struct {
	live.Dependencies
	objects []Watcher
	memory  *live.Memory[types.UID, feed.Look]
}

var _ feed.Source = (*Source)(nil)

// NewSource makes one. objects are the stores of Valkeys and ValkeySentinels.
func NewSource(dependencies live.Dependencies, objects ...Watcher) *Source {
	return &Source{
		Dependencies: dependencies, objects: objects,
		memory: &live.Memory[types.UID, feed.Look]{Clock: dependencies.Clock, For: remembered, Deadline: deadline},
	}
}

// Sets are the ValkeySentinels of a namespace; of all if it is empty.
func (s *Source) Sets(ctx context.Context, namespace string) ([]*v1alpha1.ValkeySentinel, error) {
	return s.Objects.Sentinels(genericapirequest.WithNamespace(ctx, namespace))
}

// Look asks the Sentinels of a set.
func (s *Source) Look(ctx context.Context, set *v1alpha1.ValkeySentinel, fresh bool) (feed.Look, error) {
	get := s.memory.Get
	if fresh {
		get = s.memory.Renew
	}
	look, err := get(ctx, set.UID, func(ctx context.Context) (feed.Look, error) { return s.look(ctx, set) })
	look.List = look.List.DeepCopy()
	return look, err
}

func (s *Source) look(ctx context.Context, set *v1alpha1.ValkeySentinel) (feed.Look, error) {
	began := s.Clock.Now()
	ctx = genericapirequest.WithNamespace(ctx, set.Namespace)
	valkeys, err := s.Objects.MonitoredBy(ctx, set)
	if err != nil {
		return feed.Look{}, err
	}
	targets, err := s.Processes.Sentinels(ctx, set)
	if err != nil && !errors.Is(err, discovery.ErrNoCredentials) {
		return feed.Look{}, err
	}
	look := feed.Look{At: began, Namespace: set.Namespace, Targets: targets}
	var snapshot topology.Snapshot
	switch {
	case err != nil:
		snapshot = s.unasked(set, err)
		look.Unanswered = live.FromDiscovery(resource, set.Name, err)
	default:
		snapshot = inspect.Inspector{Clients: s.Clients, Deadline: deadline}.Look(ctx, inspect.Subject{Sentinels: targets})
		if !live.AnyAnswered(snapshot) {
			look.Unanswered = live.Unavailable(resource, set.Name, "no Sentinel answers", live.UnreachableCauses(snapshot))
		}
	}
	look.List = &api.MonitorList{}
	err = v1alpha1.Convert_v1alpha1_MonitorList_To_valkey_MonitorList(view.Monitors(snapshot, set, valkeys), look.List, nil)
	for i := range look.List.Items {
		label(&look.List.Items[i])
	}
	return look, err
}

// unasked is a look without a way to log in: nobody was asked.
func (s *Source) unasked(set *v1alpha1.ValkeySentinel, err error) topology.Snapshot {
	snapshot := topology.Snapshot{Now: s.Clock.Now()}
	for i := range int(set.Spec.Replicas) {
		snapshot.Sentinels = append(snapshot.Sentinels, topology.SentinelView{
			Name:  naming.SentinelPod(set.Name, i),
			Reach: topology.Reach{Class: topology.ReachAuth, Text: "cannot log in yet: " + err.Error(), When: snapshot.Now},
		})
	}
	return snapshot
}

func label(monitor *api.Monitor) {
	monitor.Labels = map[string]string{naming.LabelSentinel: monitor.Sentinel}
	if monitor.Valkey != "" {
		monitor.Labels[naming.LabelValkey] = monitor.Valkey
	}
}

// Listen tells when the Sentinel has said something.
func (s *Source) Listen(ctx context.Context, target valkeyclient.Target, tell func()) error {
	sentinel, err := s.Clients.Sentinel(target)
	if err != nil {
		return err
	}
	return sentinel.Subscribe(ctx, func(valkeyclient.Event) { tell() })
}

var resource = v1alpha1.Resource("valkeysentinels")
