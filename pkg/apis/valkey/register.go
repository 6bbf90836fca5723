// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package valkey

import (
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// GroupName is the API group.
const GroupName = "valkey.io"

// SchemeGroupVersion is the group with its internal version.
var SchemeGroupVersion = schema.GroupVersion{Group: GroupName, Version: runtime.APIVersionInternal}

var (
	// SchemeBuilder collects what registers the group's internal types.
	SchemeBuilder = runtime.NewSchemeBuilder(addKnownTypes)
	// AddToScheme registers the group's internal types.
	AddToScheme = SchemeBuilder.AddToScheme
)

// Kind qualifies a kind with the group.
func Kind(kind string) schema.GroupKind { return SchemeGroupVersion.WithKind(kind).GroupKind() }

// Resource qualifies a resource with the group.
func Resource(resource string) schema.GroupResource {
	return SchemeGroupVersion.WithResource(resource).GroupResource()
}

func addKnownTypes(scheme *runtime.Scheme) error {
	scheme.AddKnownTypes(SchemeGroupVersion,
		&Valkey{}, &ValkeyList{},
		&ValkeySentinel{}, &ValkeySentinelList{},
		&ValkeyNode{}, &ValkeyNodeList{},
		&Failover{}, &FailoverRequest{},
		&Monitor{}, &MonitorList{},
		&Replication{},
	)
	return nil
}
