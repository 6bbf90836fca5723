// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package stored

import (
	"context"
	"fmt"

	metainternalversion "k8s.io/apimachinery/pkg/apis/meta/internalversion"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"

	api "github.com/valkeykube/valkeykube/pkg/apis/valkey"
	"github.com/valkeykube/valkeykube/pkg/apis/valkey/v1alpha1"
	"github.com/valkeykube/valkeykube/pkg/naming"
	"github.com/valkeykube/valkeykube/pkg/selection"
)

// Store reads one kind.
type Store interface {
	Get(ctx context.Context, name string, options *metav1.GetOptions) (runtime.Object, error)
	List(ctx context.Context, options *metainternalversion.ListOptions) (runtime.Object, error)
	// Written is the latest resourceVersion that clients of this process may know of.
	Written() string
}

// Reader reads objects of the context's namespace.
type Reader struct {
	ValkeyStore, NodeStore, SentinelStore Store
}

// Valkey reads one Valkey.
func (r Reader) Valkey(ctx context.Context, name string) (*v1alpha1.Valkey, error) {
	object, err := r.ValkeyStore.Get(ctx, name, &metav1.GetOptions{})
	if err != nil {
		return nil, err
	}
	return Versioned(object)
}

// Versioned is a stored Valkey in the served version.
func Versioned(object runtime.Object) (*v1alpha1.Valkey, error) {
	stored, ok := object.(*api.Valkey)
	if !ok {
		return nil, fmt.Errorf("not a Valkey: %T", object)
	}
	valkey := &v1alpha1.Valkey{}
	return valkey, v1alpha1.Convert_valkey_Valkey_To_v1alpha1_Valkey(stored.DeepCopy(), valkey, nil)
}

// Valkeys reads all Valkeys.
func (r Reader) Valkeys(ctx context.Context) ([]v1alpha1.Valkey, error) {
	return r.valkeys(ctx, &metainternalversion.ListOptions{})
}

func (r Reader) valkeys(ctx context.Context, options *metainternalversion.ListOptions) ([]v1alpha1.Valkey, error) {
	list, err := r.ValkeyStore.List(ctx, options)
	if err != nil {
		return nil, err
	}
	var versioned v1alpha1.ValkeyList
	err = v1alpha1.Convert_valkey_ValkeyList_To_v1alpha1_ValkeyList(list.DeepCopyObject().(*api.ValkeyList), &versioned, nil)
	return versioned.Items, err
}

// Nodes reads the nodes that belong to a Valkey, by index.
func (r Reader) Nodes(ctx context.Context, valkey string) ([]v1alpha1.ValkeyNode, error) {
	list, err := r.NodeStore.List(ctx, &metainternalversion.ListOptions{
		FieldSelector: fields.OneTermEqualSelector("spec.valkey", valkey),
	})
	if err != nil {
		return nil, err
	}
	var versioned v1alpha1.ValkeyNodeList
	err = v1alpha1.Convert_valkey_ValkeyNodeList_To_v1alpha1_ValkeyNodeList(list.DeepCopyObject().(*api.ValkeyNodeList), &versioned, nil)
	if err != nil {
		return nil, err
	}
	var nodes []v1alpha1.ValkeyNode
	for i := range versioned.Items {
		if _, ours := naming.NodeIndex(valkey, versioned.Items[i].Name); ours {
			nodes = append(nodes, versioned.Items[i])
		}
	}
	return nodes, nil
}

// Sentinel reads one ValkeySentinel.
func (r Reader) Sentinel(ctx context.Context, name string) (*v1alpha1.ValkeySentinel, error) {
	object, err := r.SentinelStore.Get(ctx, name, &metav1.GetOptions{})
	if err != nil {
		return nil, err
	}
	stored, ok := object.(*api.ValkeySentinel)
	if !ok {
		return nil, fmt.Errorf("not a ValkeySentinel: %T", object)
	}
	sentinel := &v1alpha1.ValkeySentinel{}
	return sentinel, v1alpha1.Convert_valkey_ValkeySentinel_To_v1alpha1_ValkeySentinel(stored.DeepCopy(), sentinel, nil)
}

// Sentinels reads all ValkeySentinels.
func (r Reader) Sentinels(ctx context.Context) ([]*v1alpha1.ValkeySentinel, error) {
	return r.sentinels(ctx, &metainternalversion.ListOptions{})
}

func (r Reader) sentinels(ctx context.Context, options *metainternalversion.ListOptions) ([]*v1alpha1.ValkeySentinel, error) {
	list, err := r.SentinelStore.List(ctx, options)
	if err != nil {
		return nil, err
	}
	var versioned v1alpha1.ValkeySentinelList
	err = v1alpha1.Convert_valkey_ValkeySentinelList_To_v1alpha1_ValkeySentinelList(list.DeepCopyObject().(*api.ValkeySentinelList), &versioned, nil)
	sentinels := make([]*v1alpha1.ValkeySentinel, len(versioned.Items))
	for i := range versioned.Items {
		sentinels[i] = &versioned.Items[i]
	}
	return sentinels, err
}

// MonitoredBy are the names of the Valkeys that a ValkeySentinel monitors, by the name of their monitor.
func (r Reader) MonitoredBy(ctx context.Context, set *v1alpha1.ValkeySentinel) (map[string]string, error) {
	valkeys, err := r.Valkeys(ctx)
	if err != nil {
		return nil, err
	}
	sets, err := r.Sentinels(ctx)
	if err != nil {
		return nil, err
	}
	names := map[string]string{}
	for i := range valkeys {
		if monitor := selection.For(&valkeys[i], sets).Monitor; monitor != nil && monitor.Name == set.Name {
			names[v1alpha1.EffectiveMonitorName(&valkeys[i])] = valkeys[i].Name
		}
	}
	return names, nil
}
