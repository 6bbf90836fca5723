// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package valkey

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apiserver/pkg/warning"
	"k8s.io/klog/v2"

	api "github.com/valkeykube/valkeykube/pkg/apis/valkey"
	"github.com/valkeykube/valkeykube/pkg/naming"
)

// childNames refuses a Valkey with a Service that another object has too: "a" and "a-0" would share that of the first's node 0. Whose
// it is would depend on who came first, and the other would never become ready. With a Service goes what else is called like it.
type childNames struct{ others Others }

func (c childNames) errors(ctx context.Context, object, old *api.Valkey) field.ErrorList {
	path, value, wayOut, from := field.NewPath("metadata", "name"), any(object.Name), "choose another name", 0
	var services []string
	if old == nil {
		services = []string{naming.ValkeyService(object.Name), naming.PrimaryService(object.Name), naming.ReplicasService(object.Name)}
	} else {
		path, value, wayOut, from = field.NewPath("spec", "replicas"), object.Spec.Replicas, "it can have fewer", int(old.Spec.Replicas)+1
	}
	nodes := min(int(object.Spec.Replicas), naming.MaxReplicas) + 1 // more are refused by another rule
	services = append(services, naming.NodeServices(object.Name, from, nodes)...)
	ctx, cancel := context.WithTimeout(ctx, lookTimeout)
	defer cancel()
	for _, service := range services {
		holder, err := c.holder(ctx, service, object.Name)
		if err != nil {
			klog.FromContext(ctx).Error(err, "The names of children were not checked", "namespace", object.Namespace, "valkey", object.Name)
			warning.AddWarning(ctx, "", path.String()+": could not be compared with the names of other objects' Services")
			return nil
		}
		if holder != "" {
			return field.ErrorList{field.Invalid(path, value, fmt.Sprintf("would have the Service %s, which %s has: %s", service, holder, wayOut))}
		}
	}
	return nil
}

func (c childNames) holder(ctx context.Context, service, self string) (string, error) {
	if name, err := c.others.ValkeyWithService(ctx, service, self); name != "" || err != nil {
		return "Valkey " + name, err
	}
	name, err := c.others.SentinelWithService(ctx, service)
	if name == "" || err != nil {
		return "", err
	}
	return "ValkeySentinel " + name, nil
}
